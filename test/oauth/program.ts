import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { Grant } from '../../contract/grants.ts';
import type { Seen, Visitor } from '../admin/visitor.ts';
import { type Answer, request } from '../helpers/request.ts';
import type { TestServer } from '../helpers/server.ts';

/**
 * The redirect URI of the test's OAuth clients. No server listens at this URI, because no test follows a redirect to
 * it.
 */
export const callback = 'http://127.0.0.1:33418/callback';

export interface Tokens {
  access_token: string;
  refresh_token: string;
}

type Fields = Record<string, string | undefined>;

/**
 * An OAuth client with a method for each step of the authorization. By default, each step sends valid fields, and tests
 * can override them.
 */
export class Program {
  readonly server: TestServer;
  readonly clientId: string;
  readonly secret: string | undefined;
  readonly verifier = randomBytes(32).toString('base64url');

  constructor(server: TestServer, clientId: string, secret?: string) {
    this.server = server;
    this.clientId = clientId;
    this.secret = secret;
  }

  static async register(server: TestServer, metadata: object = {}): Promise<Program> {
    const { status, body } = await register(server, metadata);
    expect(status, JSON.stringify(body)).toBe(201);
    return new Program(server, body.client_id, body.client_secret);
  }

  get audience(): string {
    return `${this.server.config.BASE_URL}/api/v1/mcp`;
  }

  /** Returns the path and query of the authorization URL. Leaves out undefined fields. */
  authorizationPath(fields: Fields = {}): string {
    return `/oauth/authorize?${queryOf({
      client_id: this.clientId,
      redirect_uri: callback,
      response_type: 'code',
      code_challenge: createHash('sha256').update(this.verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: this.audience,
      state: 'a state',
      ...fields,
    })}`;
  }

  /** Starts an authorization request. Returns the path of the consent page. */
  async ask(visitor: Visitor, fields: Fields = {}): Promise<string> {
    const { status, location, html } = await visitor.get(this.authorizationPath(fields));
    expect([status, html]).toEqual([303, '']);
    expect(location).toMatch(/^\/admin\/connect\//);
    return location ?? '';
  }

  /** Submits the consent of a signed-in person. Returns the redirect URI, which contains the authorization code. */
  async consent(visitor: Visitor, levels: Record<number, Grant>, fields: Fields = {}): Promise<URL> {
    const page = await this.ask(visitor, fields);
    const answer = await visitor.submit(page, page, { ...levelFields(levels), decision: 'connect' });
    return finish(visitor, answer);
  }

  /** Runs all steps of the authorization. Returns the tokens of the OAuth client. */
  async connect(visitor: Visitor, levels: Record<number, Grant>): Promise<Tokens> {
    const { searchParams } = await this.consent(visitor, levels);
    const answer = await this.redeem(searchParams.get('code') ?? '');
    expect(answer.status, answer.text).toBe(200);
    return answer.body;
  }

  redeem(code: string, fields: Fields = {}): Promise<Answer> {
    const sent = { code, redirect_uri: callback, code_verifier: this.verifier, ...fields };
    return this.post('/oauth/token', { grant_type: 'authorization_code', ...sent });
  }

  refresh(refreshToken: string, fields: Fields = {}): Promise<Answer> {
    return this.post('/oauth/token', { grant_type: 'refresh_token', refresh_token: refreshToken, ...fields });
  }

  revoke(token: string): Promise<Answer> {
    return this.post('/oauth/revoke', { token });
  }

  post(path: string, fields: Fields, headers: Record<string, string> = {}): Promise<Answer> {
    const basic = Buffer.from(`${this.clientId}:${this.secret}`).toString('base64');
    const identity: Record<string, string> = this.secret === undefined ? {} : { authorization: `Basic ${basic}` };
    return request(this.server, `POST ${path}`, {
      raw: queryOf({ ...(this.secret === undefined ? { client_id: this.clientId } : {}), ...fields }),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...identity, ...headers },
    });
  }
}

export function register(server: Pick<TestServer, 'baseUrl'>, metadata: object = {}): Promise<Answer> {
  const json = { client_name: 'A program', redirect_uris: [callback], token_endpoint_auth_method: 'none', ...metadata };
  return request(server, 'POST /oauth/register', { json });
}

export function levelFields(levels: Record<number, Grant>): Record<string, string> {
  return Object.fromEntries(Object.entries(levels).map(([boardId, level]) => [`level_${boardId}`, level]));
}

/**
 * Follows the redirect in the response to the consent form. Returns the URL of the next redirect, which leads to the
 * OAuth client.
 */
export async function finish(visitor: Visitor, answer: Seen): Promise<URL> {
  expect(answer.status, answer.html).toBe(303);
  const { pathname } = new URL(answer.location ?? '');
  expect(pathname).toMatch(/^\/oauth\/authorize\//);
  const back = await visitor.get(pathname);
  expect(back.status, back.html).toBe(303);
  return new URL(back.location ?? '');
}

/** Calls a tool with a single request. A tool call needs no handshake. */
export function callTool(
  server: Pick<TestServer, 'baseUrl'>,
  token: string | undefined,
  name = 'list_ideas',
  given: object = {},
): Promise<Answer> {
  const json = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } };
  const headers = { accept: 'application/json, text/event-stream' };
  return request(server, 'POST /api/v1/mcp', { token, json, headers });
}

function queryOf(fields: Fields): URLSearchParams {
  return new URLSearchParams(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
