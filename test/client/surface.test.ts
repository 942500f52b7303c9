import type { IncomingHttpHeaders } from 'node:http';
import { expect, expectTypeOf, test } from 'vitest';
import type { z } from 'zod';
import type * as declared from '../../client/contract.ts';
import { eventTypes, routes } from '../../client/contract.ts';
import {
  type ApiError,
  type Call,
  type CallOptions,
  type CallResult,
  type ErrorKeyOf,
  type Fetch,
  type IdeaBoard,
  type IdeaBoardError,
  type IdeaBoardOptions,
  isIdeaBoardError,
  type List,
  type NotModified,
  notModified,
  type OperationError,
  type RateLimit,
  type ValidationIssue,
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
  type WriteOptions,
} from '../../client/main.ts';
import type { DetailsOf, ErrorBody, ErrorKey, errorDetails } from '../../contract/errors.ts';
import { eventTypes as contractEvents, type EventBody, type TestEventBody } from '../../contract/events.ts';
import { operations } from '../../contract/index.ts';
import type { RawClient } from '../../contract/raw.ts';
import type { RouteMetadata } from '../../contract/routes.ts';

/*
 * Compares the generated types of the client with the contract. If a type assertion is wrong, this file does not
 * compile and `npm run check` fails.
 */

type Contract = typeof operations;
type Id = declared.OperationId;

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Expands a type, so that two types with equal properties are equal even if their definitions differ. */
type Plain<T> = T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
type Same<A, B> = Equal<Plain<A>, Plain<B>>;

type Responses<O extends Id> = Contract[O] extends { responses: infer R } ? R : never;
type Output<Schema> = Schema extends z.ZodType ? z.output<Schema> : never;
type Success<O extends Id> = Output<Responses<O>[keyof Responses<O> & (200 | 201)]>;
type KeyOf<Answer> = Answer extends { error: { key: infer Key } } ? Key : never;
type Refusal<O extends Id> = KeyOf<Output<Responses<O>[keyof Responses<O>]>>;
type Body<O extends Id> = Contract[O] extends { body: infer Schema extends z.ZodType } ? z.input<Schema> : undefined;
type Query<O extends Id> = Contract[O] extends { query: infer Schema } ? Omit<Output<Schema>, 'board'> : never;
type Wrong<Table extends Record<Id, boolean>> = { [O in Id]: Table[O] extends true ? never : O }[Id];

test('the client knows the method, path, board parameter and idempotency key header of every operation in the contract except /health and /ready', () => {
  const known = Object.entries(operations).map(([id, route]) => {
    const { auth } = route.metadata as RouteMetadata;
    const takesKey = 'headers' in route && 'idempotency-key' in (route.headers ?? {});
    return { id, auth, method: route.method, path: route.path, isOnBoard: auth === 'board', takesKey };
  });
  expect(Object.entries(routes).map(([id, route]) => ({ id, ...route }))).toEqual(
    known.filter(({ auth }) => auth !== 'none').map(({ auth: _, ...route }) => route),
  );
  expect(eventTypes).toEqual([...contractEvents, 'webhook.test']);
  expectTypeOf<Id>().toEqualTypeOf<Exclude<keyof Contract, 'getHealth' | 'getReadiness'>>();
});

test("the client's TypeScript types of results, errors, bodies and queries equal the types of the contract", () => {
  expectTypeOf<Wrong<{ [O in Id]: Same<declared.Operations[O]['result'], Success<O>> }>>().toBeNever();
  expectTypeOf<Wrong<{ [O in Id]: Same<declared.Operations[O]['errorKey'], Refusal<O>> }>>().toBeNever();
  expectTypeOf<Wrong<{ [O in Id]: Same<declared.Operations[O]['body'], Body<O>> }>>().toBeNever();
  expectTypeOf<Same<declared.ListIdeasQuery, Query<'listIdeas'>>>().toEqualTypeOf<true>();
  expectTypeOf<Same<declared.FindSimilarIdeasQuery, Query<'findSimilarIdeas'>>>().toEqualTypeOf<true>();
  expectTypeOf<Same<declared.CreateIdeaQuery, Query<'createIdea'>>>().toEqualTypeOf<true>();
  expectTypeOf<Same<declared.GetIdeaQuery, Query<'getIdea'>>>().toEqualTypeOf<true>();
  expectTypeOf<Same<declared.ListVotesQuery, Query<'listVotes'>>>().toEqualTypeOf<true>();
  expectTypeOf<Same<declared.ListCommentsQuery, Query<'listComments'>>>().toEqualTypeOf<true>();
  expectTypeOf<Same<declared.ListNotesQuery, Query<'listNotes'>>>().toEqualTypeOf<true>();
  // A request sends the event types as one text, which the server splits.
  expectTypeOf<
    Same<Omit<declared.ListEventsQuery, 'types'>, Omit<Query<'listEvents'>, 'types'>>
  >().toEqualTypeOf<true>();
  expectTypeOf<Same<declared.DeleteIdeaQuery, Query<'deleteIdea'>>>().toEqualTypeOf<true>();
  expectTypeOf<Same<declared.DeleteCommentQuery, Query<'deleteComment'>>>().toEqualTypeOf<true>();
  expectTypeOf<Same<declared.ListWebhooksQuery, Query<'listWebhooks'>>>().toEqualTypeOf<true>();
  expectTypeOf<Same<declared.RotateWebhookSecretQuery, Query<'rotateWebhookSecret'>>>().toEqualTypeOf<true>();
  expectTypeOf<Same<declared.ListWebhookDeliveriesQuery, Query<'listWebhookDeliveries'>>>().toEqualTypeOf<true>();
  expectTypeOf<Same<declared.EventBody, EventBody | TestEventBody>>().toEqualTypeOf<true>();
  expectTypeOf<declared.ErrorKey>().toEqualTypeOf<ErrorKey>();
  type Details = { -readonly [K in keyof typeof errorDetails]: DetailsOf<K> };
  expectTypeOf<Same<declared.DetailsByKey, Details>>().toEqualTypeOf<true>();
  expectTypeOf<
    Same<declared.ValidationIssue, NonNullable<ErrorBody['error']['issues']>[number]>
  >().toEqualTypeOf<true>();
});

test('the methods of the client have the expected TypeScript types', () => {
  expectTypeOf<IdeaBoardOptions>().toExtend<{ baseUrl: string; token: string; board?: string | undefined }>();
  expectTypeOf<Pick<IdeaBoardOptions, 'baseUrl' | 'token'>>().toExtend<IdeaBoardOptions>();
  expectTypeOf<typeof fetch>().toExtend<Fetch>();
  type Ideas = IdeaBoard['ideas'];
  expectTypeOf<Ideas['create']>().parameter(0).toEqualTypeOf<declared.IdeaInput>();
  expectTypeOf<Ideas['create']>().parameter(1).toEqualTypeOf<(WriteOptions & declared.CreateIdeaQuery) | undefined>();
  expectTypeOf<Ideas['vote']>().parameter(1).toEqualTypeOf<{ value: 'up' | 'down' | 'none' }>();
  expectTypeOf<Ideas['vote']>().returns.resolves.toEqualTypeOf<declared.VoteTally>();
  expectTypeOf<Ideas['comment']>().returns.resolves.toEqualTypeOf<declared.Comment>();
  expectTypeOf<Ideas['setStatus']>().returns.resolves.toEqualTypeOf<declared.Idea>();
  expectTypeOf<Ideas['addTag']>().returns.resolves.toEqualTypeOf<declared.Idea>();
  expectTypeOf<Ideas['removeTag']>().parameter(1).toEqualTypeOf<number>();
  expectTypeOf<Ideas['merge']>().returns.resolves.toEqualTypeOf<declared.Merge>();
  expectTypeOf<Ideas['unmerge']>().returns.resolves.toEqualTypeOf<declared.Merge>();
  expectTypeOf<IdeaBoard['token']['get']>().returns.resolves.toEqualTypeOf<declared.Token>();
  type Webhooks = IdeaBoard['webhooks'];
  expectTypeOf<Webhooks['create']>().returns.resolves.toEqualTypeOf<declared.WebhookWithSecret>();
  expectTypeOf<Webhooks['update']>().parameter(1).toEqualTypeOf<declared.WebhookEdit>();
  expectTypeOf<Webhooks['redeliver']>().returns.resolves.toEqualTypeOf<declared.WebhookDelivery>();
  const read = async ({ ideas, board, webhooks, request }: IdeaBoard, query: declared.ListIdeasQuery) => {
    expectTypeOf(ideas.list(query)).toEqualTypeOf<List<declared.Idea, declared.IdeaList>>();
    expectTypeOf(ideas.comments(1, {})).toEqualTypeOf<List<declared.Comment, declared.CommentList>>();
    expectTypeOf(ideas.votes(1, {})).toEqualTypeOf<List<declared.Vote, declared.VoteList>>();
    expectTypeOf(webhooks.list()).toEqualTypeOf<List<declared.Webhook, declared.WebhookList>>();
    expectTypeOf(webhooks.deliveries(1, { state: 'dead' })).toEqualTypeOf<
      List<declared.WebhookDelivery, declared.WebhookDeliveryList>
    >();
    expectTypeOf(ideas.list().toArray({ limit: 7 })).resolves.toEqualTypeOf<declared.Idea[]>();
    expectTypeOf(ideas.get(1, { expand: ['votes'] })).toEqualTypeOf<Call<declared.ExpandedIdea>>();
    expectTypeOf(ideas.get(1)).toExtend<Call<declared.Idea>>();
    expectTypeOf(board.get()).toEqualTypeOf<Call<declared.BoardDetails>>();
    expectTypeOf(request<7>({ method: 'GET', path: '/' })).toEqualTypeOf<Call<7>>();
  };
  expectTypeOf(read).toBeFunction();
  expectTypeOf<Call<declared.Idea>['withResponse']>().returns.resolves.toEqualTypeOf<CallResult<declared.Idea>>();
  expectTypeOf<keyof RawClient>().toEqualTypeOf<keyof Contract>();
});

test('TypeScript knows that a client call with the option `etag` returns the data or `notModified`', () => {
  const read = async ({ ideas, board, webhooks }: IdeaBoard, etag: string | undefined) => {
    const idea = await ideas.get(1, { etag });
    if (idea === notModified) return idea satisfies NotModified;
    expectTypeOf(idea).toEqualTypeOf<declared.ExpandedIdea>();
    expectTypeOf(await ideas.list({}, { etag })).toEqualTypeOf<declared.IdeaList | NotModified>();
    expectTypeOf(await ideas.comments(1, {}, { etag })).toEqualTypeOf<declared.CommentList | NotModified>();
    expectTypeOf(await ideas.votes(1, {}, { etag })).toEqualTypeOf<declared.VoteList | NotModified>();
    expectTypeOf(await board.get({ etag })).toEqualTypeOf<declared.BoardDetails | NotModified>();
    expectTypeOf(await webhooks.list({}, { etag })).toEqualTypeOf<declared.WebhookList | NotModified>();
    expectTypeOf(await webhooks.get(1, { etag })).toEqualTypeOf<declared.Webhook | NotModified>();
    // The response of this method has no ETag, so the method has no option `etag`.
    expectTypeOf<IdeaBoard['token']['get']>().parameter(0).toEqualTypeOf<CallOptions | undefined>();
  };
  expectTypeOf(read).toBeFunction();
  for (const [id, route] of Object.entries(operations)) {
    const isConditional = 'headers' in route && 'if-none-match' in (route.headers ?? {});
    const isReadOfBoard = route.method === 'GET' && (route.metadata as RouteMetadata).auth === 'board';
    expect([id, isConditional]).toEqual([id, isReadOfBoard]);
  }
});

test('TypeScript knows that awaiting a list of the client gives a page and that iterating over the list gives entries', () => {
  const walk = async (client: IdeaBoard) => {
    const list = client.ideas.list();
    expectTypeOf(await list).toEqualTypeOf<declared.IdeaList>();
    for await (const idea of list) expectTypeOf(idea).toEqualTypeOf<declared.Idea>();
    for await (const page of list.pages()) expectTypeOf(page).toEqualTypeOf<declared.IdeaList>();
  };
  expectTypeOf(walk).returns.resolves.toEqualTypeOf<void>();
});

test("the TypeScript type of an error key depends on the client's operation, and a `switch` over all keys of the operation is exhaustive", () => {
  const explain = (error: unknown): string => {
    if (!isIdeaBoardError(error, 'getToken')) throw error;
    expectTypeOf(error).toEqualTypeOf<OperationError<'getToken'>>();
    switch (error.key) {
      case 'unauthorized':
      case 'network_not_allowed':
      case 'agent_api_unavailable':
      case 'validation_failed':
      case 'rate_limited':
      case 'internal_error':
      case 'service_unavailable':
        expectTypeOf(error).toExtend<ApiError<'getToken'>>();
        expectTypeOf(error.status).toBeNumber();
        return 'refused';
      case 'unexpected_answer':
        return error.text;
      case 'connection_failed':
      case 'timed_out':
      case 'aborted':
      case 'invalid_request':
        expectTypeOf(error.status).toEqualTypeOf<number | undefined>();
        return 'not answered';
      default:
        return error satisfies never;
    }
  };
  expectTypeOf(explain).returns.toBeString();
  expectTypeOf<
    Extract<ErrorKeyOf<'createIdea'>, 'submissions_closed' | 'voting_closed'>
  >().toEqualTypeOf<'submissions_closed'>();
  expectTypeOf<
    Extract<ErrorKeyOf<'voteIdea'>, 'submissions_closed' | 'voting_closed'>
  >().toEqualTypeOf<'voting_closed'>();
  expectTypeOf<IdeaBoardError['rateLimit']>().toEqualTypeOf<RateLimit | undefined>();
  expectTypeOf<IdeaBoardError['issues']>().toEqualTypeOf<readonly ValidationIssue[]>();
});

test('TypeScript narrows the type of a webhook event by the value of `event.type`', () => {
  expectTypeOf(verifyWebhook).returns.resolves.toEqualTypeOf<WebhookEvent>();
  expectTypeOf<WebhookEvent['type']>().toEqualTypeOf<declared.EventBody['type'] | 'unknown'>();
  expectTypeOf<Extract<WebhookEvent, { type: 'idea.voted' }>['data']['vote']['value']>().toEqualTypeOf<
    'up' | 'down' | 'none'
  >();
  expectTypeOf<Extract<WebhookEvent, { type: 'unknown' }>['body']['type']>().toBeString();
  expectTypeOf<WebhookEvent['id']>().toBeString();
  expectTypeOf<IncomingHttpHeaders>().toExtend<WebhookHeaders>();
  expectTypeOf<Headers>().toExtend<WebhookHeaders>();
  type Sent = z.infer<typeof import('../../contract/events.ts').TestEvent>;
  expectTypeOf<Extract<WebhookEvent, { type: 'webhook.test' }>['data']>().toEqualTypeOf<Sent['data']>();
});
