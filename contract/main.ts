export { Board, BoardDetails } from './board.ts';
export { Comment, CommentEdit, CommentList } from './comments.ts';
export {
  type DetailsOf,
  type ErrorBody,
  type ErrorKey,
  errorDetails,
  errors,
  meaningOf,
  mergeMeanings,
  messageWith,
  ValidationIssue,
} from './errors.ts';
export { EventList } from './event-list.ts';
export {
  defaultEventTypes,
  type EventBody,
  type EventType,
  events,
  eventTypes,
  TestEvent,
  type TestEventBody,
} from './events.ts';
export { Capability, capabilities, Grant, grants, grantsOfQuery, includesGrant } from './grants.ts';
export { Idea, VoteValue } from './idea.ts';
export { Deletion, IdeaEdit, IdeaInput, IdeaList } from './ideas.ts';
export { contract, type OperationId, operations } from './index.ts';
export {
  type Bucket,
  buckets,
  changeMinutes,
  defaultOverlapHours,
  excerptLength,
  leastSimilarity,
  maxBodyBytes,
  maxIdsOfRequest,
  maxSimilarIdeas,
  maxTagsOfIdea,
  maxWaitsOfToken,
  maxWebhooks,
  nearDuplicateSimilarity,
} from './limits.ts';
export { Merge } from './merging.ts';
export { Note, NoteEdit, NoteList } from './notes.ts';
export { ExpandedIdea } from './one-idea.ts';
export { defaultPerPage } from './pagination.ts';
export type { Route, RouteMetadata, ToolMetadata } from './routes.ts';
export { SimilarIdea, SimilarIdeaList } from './similar-ideas.ts';
export { IdeaStatus, Status, StatusCategory, statusExamples, statusOfCategory } from './status.ts';
export { Tag } from './tag.ts';
export { Token } from './token.ts';
export { Vote, VoteList, VoteTally } from './votes.ts';
export {
  Webhook,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookEdit,
  WebhookInput,
  WebhookList,
  WebhookWithSecret,
} from './webhook.ts';
