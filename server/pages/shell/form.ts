import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { type Administration, AdministrationError } from '../../domain/administration.ts';
import { buildSigner } from '../../domain/signer.ts';
import { useOnce } from '../../http/rate-limit.ts';
import { t } from '../../text/catalogue.ts';
import { oneLine } from '../../text/plain-text.ts';
import { Refusal } from './refusal.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Returns the form_token that every form of the session must send. Each call returns a different text, but every
     * one of these texts is valid.
     */
    formTokenOf(tokenHash: Buffer): string;
  }
  interface FastifyContextConfig {
    /**
     * Whether visitors without a session can send the form. Such a form needs no form_token, because the visitor may
     * have used another tab to sign in after opening the form.
     */
    isForVisitors?: boolean;
    /** Whether pages of other websites may send the form. If true, the route itself must check the origin. */
    isFromOtherSites?: boolean;
  }
}

/**
 * Returns a form field or a query parameter. Returns an empty text if the field is missing or was sent more than once.
 * Converts CRLF to LF, because browsers send line breaks as CRLF.
 */
export function fieldOf(sent: unknown, name: string): string {
  const value = typeof sent === 'object' && sent !== null ? (sent as Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' ? value.replaceAll('\r\n', '\n') : '';
}

export function idFieldOf(sent: unknown, name: string): number | undefined {
  const text = fieldOf(sent, name);
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

/** The reason why the server refused a form. The page shows the reason above the form. */
export interface Problem {
  status: number;
  message: string;
  cause?: unknown;
}

/** A problem with the form itself, such as a wrong password or too many attempts. */
export class FormProblem extends Error implements Problem {
  override readonly name = 'FormProblem';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Returns the message to show for a FormProblem. Rethrows every other error. */
export function ownProblemOf(error: unknown): Problem {
  if (error instanceof FormProblem) return error;
  throw error;
}

/** Returns the message to show for invalid input, a conflict or a FormProblem. Rethrows every other error. */
export function problemOf(error: unknown): Problem {
  if (error instanceof AdministrationError) {
    // The message may quote text from users, such as the name of a board. So this function puts the message on one
    // line.
    const message = oneLine(error.message);
    if (error.reason === 'invalid') return { status: 422, message, cause: error };
    if (error.reason === 'conflict') return { status: 409, message, cause: error };
  }
  return ownProblemOf(error);
}

const formIdSeconds = 86_400;

/** Returns a value for the hidden field form_id. A form with this field can run only once. */
export function newFormId(): string {
  return randomBytes(16).toString('base64url');
}

/**
 * Refuses a form that has already run, such as after a double click or a reload. The form's transaction records the
 * form_id. A second request therefore waits for the first. After a rollback, the user can send the form again.
 */
export async function requireFirst(admin: Administration, body: unknown): Promise<void> {
  const id = fieldOf(body, 'form_id');
  if (!/^[\w-]{22}$/.test(id)) throw new AdministrationError('conflict', t('shell.form.send_again'));
  const expiresAt = new Date(admin.now.getTime() + formIdSeconds * 1000);
  if (!(await useOnce(admin, { kind: 'form', id, expiresAt }, admin.now))) {
    throw new AdministrationError('conflict', t('shell.form.sent_twice'));
  }
}

/**
 * Prevents cross-site request forgery, even for sign-in. The browser's headers must show that the form comes from a
 * page of this server. A form of a signed-in user must also contain the session's form_token.
 */
export function guardForms(app: FastifyInstance, { audit, config, appKey }: ServerDependencies) {
  const { macOf } = buildSigner(appKey, 'form');
  const ownOrigin = new URL(config.BASE_URL).origin;
  const isFromHere = config.isBaseUrlSet ? isFromOrigin(ownOrigin) : isFromSameHostOr(ownOrigin);

  app.decorate('formTokenOf', (tokenHash: Buffer) => mask(macOf(tokenHash)).toString('base64url'));

  // Checks the request before the server reads the session and the body, so that a forged form causes no work.
  app.addHook('onRequest', async request => {
    const { method, routeOptions } = request;
    if (method === 'POST' && !routeOptions.config.isFromOtherSites && !isFromHere(request)) refuse(request, 'origin');
  });
  app.addHook('preHandler', async request => {
    const { browserSession, method, body, routeOptions } = request;
    if (method !== 'POST' || !browserSession || routeOptions.config.isForVisitors) return;
    const given = Buffer.from(fieldOf(body, 'form_token'), 'base64url');
    const expected = macOf(browserSession.tokenHash);
    if (given.length !== 2 * expected.length || !timingSafeEqual(unmask(given), expected)) refuse(request, 'token');
  });

  function refuse(request: FastifyRequest, reason: 'origin' | 'token'): never {
    const { id, ip, browserSession } = request;
    const user = browserSession ? { user_id: browserSession.user.id } : {};
    audit.record('form.refused', { request_id: id, ip, reason, ...user });
    const isElsewhere = reason === 'origin' && config.isBaseUrlSet;
    throw new Refusal(
      403,
      t('shell.form.expired.title'),
      isElsewhere
        ? t('shell.form.expired.from_elsewhere', { url: config.BASE_URL })
        : t('shell.form.expired.explanation'),
    );
  }
}

/**
 * Hides a token with random bytes, so that every page contains a different text for the same token. compressPage can
 * therefore compress these pages without revealing the token.
 */
function mask(token: Buffer): Buffer {
  const pad = randomBytes(token.length);
  return Buffer.concat([pad, combine(token, pad)]);
}

function unmask(masked: Buffer): Buffer {
  const half = masked.length / 2;
  return combine(masked.subarray(half), masked.subarray(0, half));
}

/** Combines two buffers of the same length with XOR. */
function combine(one: Buffer, other: Buffer): Buffer {
  return Buffer.from(one.map((byte, index) => byte ^ (other[index] as number)));
}

/**
 * Returns a function that checks whether a request comes from a page of the expected origin. The function does not
 * compare Origin with the Host header, because in a DNS rebinding attack both headers name the host of the attacker's
 * page.
 */
function isFromOrigin(expected: string) {
  return ({ headers: { origin, 'sec-fetch-site': site } }: FastifyRequest): boolean =>
    origin === expected && (site === undefined || site === 'same-origin');
}

/**
 * Returns the function that checks the origin of a request if BASE_URL is not set. If the request has no header
 * Sec-Fetch-Site, the function compares the host in Origin with the header Host. Browsers send Origin with every POST,
 * but send Sec-Fetch-Site only over HTTPS and to localhost.
 */
function isFromSameHostOr(expected: string) {
  return ({ headers: { origin, host, 'sec-fetch-site': site } }: FastifyRequest): boolean => {
    if (site !== undefined) return site === 'same-origin';
    if (origin === undefined || !URL.canParse(origin)) return false;
    return origin === expected || (host !== undefined && new URL(origin).host === host.toLowerCase());
  };
}
