import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { canonicalAddress } from '../../domain/users/canonical-address.ts';
import { cookieName, cookieOptions } from '../shell/session.ts';

/*
 * Whoever fails on purpose uses up the tries of an address, and would keep out whose it is. So a browser in which somebody
 * has signed in holds a cookie that says so, and has tries of its own with their address: as OWASP's device cookies. It is
 * no session, opens nothing, and whoever steals it has no more tries than any browser.
 */

const name = 'browser';
const keptSeconds = 90 * 86_400;

export function buildKnownBrowsers({ config, appKey }: Pick<ServerDependencies, 'config' | 'appKey'>) {
  const key = Buffer.from(hkdfSync('sha256', appKey, '', 'idea-board known browser 1', 32));
  const macOf = (id: string, email: string) =>
    createHmac('sha256', key)
      .update(`${id} ${canonicalAddress(email)}`)
      .digest();

  /** Under which the tries of a browser are counted; undefined where nobody has signed in with the address in it. */
  function find({ cookies }: FastifyRequest, email: string): string | undefined {
    const [, id = '', mac = ''] = /^([\w-]{22})\.([\w-]{43})$/.exec(cookies[cookieName(config, name)] ?? '') ?? [];
    const given = Buffer.from(mac, 'base64url');
    const expected = macOf(id, email);
    return given.length === expected.length && timingSafeEqual(given, expected) ? id : undefined;
  }

  return {
    find,
    /** After the password was right. The browser keeps its name, so that signing in again does not give it new tries. */
    remember(request: FastifyRequest, reply: FastifyReply, email: string) {
      const id = find(request, email) ?? randomBytes(16).toString('base64url');
      const value = `${id}.${macOf(id, email).toString('base64url')}`;
      reply.setCookie(cookieName(config, name), value, { ...cookieOptions(config), maxAge: keptSeconds });
    },
  };
}
