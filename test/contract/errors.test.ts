import { describe, expect, test } from 'vitest';
import { type ErrorKey, errors, keysIn, raisedBy, raises } from '../../contract/errors.ts';
import { contract } from '../../contract/index.ts';
import type { RouteMetadata } from '../../contract/routes.ts';

/** The error keys that section Errors of the specification defines, with their HTTP statuses. */
const specified = {
  token_issuer_not_moderator: 403,
  insufficient_scope: 403,
  board_not_granted: 403,
  board_required: 400,
  invalid_status: 422,
  board_frozen: 423,
  submissions_not_open_yet: 423,
  submissions_closed: 423,
  voting_not_open_yet: 423,
  voting_closed: 423,
} as const;

/** The error keys of the API that the specification does not define. We added these keys. */
const decided = {
  malformed_json: 400,
  bad_request: 400,
  invalid_content_length: 400,
  unknown_method: 400,
  invalid_message: 400,
  unauthorized: 401,
  network_not_allowed: 403,
  agent_api_unavailable: 403,
  user_blocked: 403,
  origin_not_allowed: 403,
  not_author: 403,
  missing_capability: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  idea_changed: 409,
  comment_changed: 409,
  note_changed: 409,
  idempotency_key_in_use: 409,
  similar_ideas: 409,
  cursor_expired: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  validation_failed: 422,
  invalid_tag: 422,
  too_many_tags: 422,
  too_many_webhooks: 422,
  webhook_disabled: 422,
  consecutive_comment: 422,
  change_window_closed: 422,
  idea_in_use: 422,
  idea_has_merged: 422,
  idea_not_published: 422,
  idea_already_merged: 422,
  merge_into_self: 422,
  idempotency_key_reused: 422,
  status_votes_closed: 423,
  status_comments_closed: 423,
  headers_too_large: 431,
  rate_limited: 429,
  too_many_waits: 429,
  internal_error: 500,
  service_unavailable: 503,
} as const;

describe('the error catalogue', () => {
  test.each(Object.entries(specified))(
    'the error key %s has the HTTP status %d of the specification',
    (key, status) => {
      expect(errors[key as ErrorKey].status).toBe(status);
    },
  );

  test('the error catalogue has exactly the expected error keys, each with the expected HTTP status', () => {
    const catalogue = Object.fromEntries(Object.entries(errors).map(([key, { status }]) => [key, status]));
    expect(catalogue).toEqual({ ...specified, ...decided });
  });

  test('each key of the error catalogue is in snake case, and the meaning of each key is a unique sentence', () => {
    for (const key of Object.keys(errors)) expect(key).toMatch(/^[a-z]+(_[a-z]+)*$/);
    const meanings = Object.values(errors).map(({ meaning }) => meaning);
    expect(new Set(meanings).size).toBe(meanings.length);
    for (const meaning of meanings) expect(meaning).toMatch(/^[A-Z].*\.$/);
  });
});

describe('raises()', () => {
  test('the function raises() lists each error key under its HTTP status', () => {
    const all = Object.keys(errors) as ErrorKey[];
    const responses = raises(...all);
    for (const key of all) expect(keysIn(responses[errors[key].status])).toContain(key);
    const listed = Object.values(responses).flatMap(keysIn);
    expect(listed.sort()).toEqual([...all].sort());
  });

  test('the function raises() joins all error keys of an HTTP status in one schema', () => {
    const responses = raises(...raisedBy.authenticated, 'invalid_status', 'merge_into_self');
    expect(keysIn(responses[422])).toEqual(['invalid_status', 'merge_into_self', 'validation_failed']);
    expect(keysIn(responses[429])).toEqual(['rate_limited']);
  });

  test('if an error key is passed to raises() twice, the schema of the response lists the key once', () => {
    expect(keysIn(raises('not_found', 'not_found')[404])).toEqual(['not_found']);
  });

  test('parsing an error with its schema keeps the field "issues" of validation_failed, but removes this field from not_found', () => {
    const issues = [{ path: ['body', 'title'], code: 'custom', message: 'Must not be empty' }];
    const invalid = { error: { key: 'validation_failed' as const, message: 'No.', issues } };
    expect(raises('validation_failed')[422].parse(invalid)).toEqual(invalid);
    const notFound = { error: { key: 'not_found' as const, message: 'No.', issues } };
    expect(raises('not_found')[404].parse(notFound)).toEqual({ error: { key: 'not_found', message: 'No.' } });
  });

  test('the error schema of an HTTP status rejects the error key of another HTTP status', () => {
    const body = { error: { key: 'unauthorized', message: 'No.' } };
    expect(raises('not_found', 'unauthorized')[404].safeParse(body).success).toBe(false);
  });
});

describe.each(Object.entries(contract))('the operation %s', (_operationId, route) => {
  const metadata: RouteMetadata = route.metadata;
  const { responses } = route as { responses: Record<number, unknown> };
  const keys = Object.values(responses).flatMap(keysIn);

  test('an operation of the contract declares every error that can occur with its kind of authentication, its HTTP method and its path', () => {
    const expected: string[] = [];
    if (metadata.auth === 'none') expected.push(...(metadata.isLimitedPerIp ? ['rate_limited'] : []));
    if (metadata.auth !== 'none') {
      expected.push('network_not_allowed');
      expected.push('unauthorized', 'rate_limited', 'agent_api_unavailable', 'validation_failed', 'internal_error');
      expected.push('service_unavailable');
    }
    if (metadata.auth === 'board') {
      expected.push('board_required', 'board_not_granted', 'insufficient_scope');
      if (metadata.bucket === 'apitoken:write') expected.push('user_blocked', 'malformed_json', 'payload_too_large');
      if (metadata.bucket === 'apitoken:write') expected.push('unsupported_media_type');
      // The server accepts changes of a frozen board's webhooks. So `board_frozen` is an error only of write operations
      // that need no capability.
      if (metadata.capability) expected.push('missing_capability');
      else if (metadata.bucket === 'apitoken:write') expected.push('board_frozen');
      if (metadata.grant === 'moderate') expected.push('token_issuer_not_moderator');
    }
    if (route.method === 'POST' && metadata.auth !== 'tools')
      expected.push('idempotency_key_in_use', 'idempotency_key_reused');
    if (route.path.includes(':')) expected.push('not_found');
    expect(keys).toEqual(expect.arrayContaining(expected));
    expect(keys.length).toBe(new Set(keys).size);
  });
});
