import { Account } from './account.ts';
import { ApiToken } from './api-token.ts';
import { ApiTokenBoard } from './api-token-board.ts';
import { Board } from './board.ts';
import { ChatChannel } from './chat-channel.ts';
import { Comment } from './comment.ts';
import { Event } from './event.ts';
import { ExtensionSubscription } from './extension-subscription.ts';
import { Follower } from './follower.ts';
import { Heartbeat } from './heartbeat.ts';
import { Idea } from './idea.ts';
import { IdeaTag } from './idea-tag.ts';
import { IdempotencyKey } from './idempotency-key.ts';
import { Invitation } from './invitation.ts';
import { Membership } from './membership.ts';
import { Merge } from './merge.ts';
import { Notification } from './notification.ts';
import { OauthRecord } from './oauth-record.ts';
import { PasswordLink } from './password-link.ts';
import { RateLimit } from './rate-limit.ts';
import { Session } from './session.ts';
import { SignInMethod } from './sign-in-method.ts';
import { Status } from './status.ts';
import { Tag } from './tag.ts';
import { User } from './user.ts';
import { UserBlock } from './user-block.ts';
import { Vote } from './vote.ts';
import { Voter } from './voter.ts';
import { WebhookAttempt } from './webhook-attempt.ts';
import { WebhookDelivery } from './webhook-delivery.ts';
import { WebhookEndpoint } from './webhook-endpoint.ts';

/** Every entity, for the ORM and for the test that holds them equal to the migrated schema. */
export const entities = [
  Account,
  ApiToken,
  ApiTokenBoard,
  Board,
  ChatChannel,
  Comment,
  Event,
  ExtensionSubscription,
  Follower,
  Heartbeat,
  Idea,
  IdeaTag,
  IdempotencyKey,
  Invitation,
  Membership,
  Merge,
  Notification,
  OauthRecord,
  PasswordLink,
  RateLimit,
  Session,
  SignInMethod,
  Status,
  Tag,
  User,
  UserBlock,
  Vote,
  Voter,
  WebhookAttempt,
  WebhookDelivery,
  WebhookEndpoint,
];
