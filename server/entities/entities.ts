import { Account, Invitation } from './account.ts';
import { ApiToken, ApiTokenBoard, IdempotencyKey, RateLimit, TokenUsage } from './api-token.ts';
import { Board, Status, Tag } from './board.ts';
import { ChatChannel } from './chat-channel.ts';
import { EmbeddingSecret, UsedEmbeddingToken } from './embedding.ts';
import { Event, EventPosition, EventWait, ExtensionSubscription, Notification, VoteFollowing } from './event.ts';
import { ExternalId } from './external-id.ts';
import { Heartbeat } from './heartbeat.ts';
import {
  Comment,
  Follower,
  Idea,
  IdeaNote,
  IdeaTag,
  IdeaTerms,
  Mention,
  Merge,
  Vote,
  VoteNetwork,
  Voter,
} from './idea.ts';
import { Identity, IdentityProvider } from './identity.ts';
import { Membership, UserBlock } from './membership.ts';
import { OauthRecord } from './oauth-record.ts';
import {
  PasswordLink,
  Picture,
  RecoveryCode,
  SecondFactor,
  Session,
  SignInChallenge,
  SignInLink,
  SignInMethod,
  User,
} from './user.ts';
import { WebhookAttempt, WebhookDelivery, WebhookEndpoint } from './webhook.ts';

/** All entities, for the ORM and for the test that compares the entities with the migrated database schema. */
export const entities = [
  Account,
  ApiToken,
  ApiTokenBoard,
  Board,
  ChatChannel,
  Comment,
  EmbeddingSecret,
  Event,
  EventPosition,
  EventWait,
  ExtensionSubscription,
  ExternalId,
  Follower,
  Heartbeat,
  Idea,
  IdeaNote,
  IdeaTag,
  IdeaTerms,
  IdempotencyKey,
  Identity,
  IdentityProvider,
  Invitation,
  Membership,
  Mention,
  Merge,
  Notification,
  OauthRecord,
  PasswordLink,
  Picture,
  RateLimit,
  RecoveryCode,
  SecondFactor,
  Session,
  SignInChallenge,
  SignInLink,
  SignInMethod,
  Status,
  Tag,
  TokenUsage,
  UsedEmbeddingToken,
  User,
  UserBlock,
  Vote,
  VoteFollowing,
  VoteNetwork,
  Voter,
  WebhookAttempt,
  WebhookDelivery,
  WebhookEndpoint,
];
