export { type CachedResponse, MemoryCache, type ResponseCache } from './cache.ts';
export { type Call, type CallResult, type NotModified, notModified } from './call.ts';
export type * from './contract.ts';
export {
  AbortError,
  ApiError,
  type ApiErrorOf,
  ConfigurationError,
  ConnectionError,
  type DetailsOf,
  type ErrorDetails,
  type ErrorKeyOf,
  IdeaBoardError,
  InvalidRequestError,
  isIdeaBoardError,
  type OperationError,
  type OperationName,
  TimeoutError,
  UnexpectedAnswerError,
  type WebhookErrorKey,
  WebhookVerificationError,
} from './errors.ts';
export type { Events, EventsQuery, EventType, FollowedEvent, FollowOptions } from './events.ts';
export type { Hooks, RequestEvent, ResponseEvent, RetryEvent } from './hooks.ts';
export { type BoardReader, IdeaBoard } from './idea-board.ts';
export type { Ideas } from './ideas.ts';
export type { List, PageOf } from './list.ts';
export type { Logger, LogLevel } from './log.ts';
export type {
  ApiRequest,
  CallOptions,
  ConditionalOptions,
  Fetch,
  FetchOptions,
  HeadersInput,
  IdeaBoardOptions,
  Limits,
  RequestParts,
  RequestValidator,
  WriteOptions,
} from './options.ts';
export type { RateLimit } from './rate-limit.ts';
export { type SignedWebhook, type SignOptions, signWebhook } from './sign-webhook.ts';
export {
  type UnknownWebhookEvent,
  type VerifyOptions,
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
} from './verify-webhook.ts';
export type { WebhookSecret } from './webhook-signature.ts';
export type { Webhooks } from './webhooks.ts';
