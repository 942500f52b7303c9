import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import { fieldOf } from '../shell/form.ts';
import { isTimeZone } from './time-zones.ts';

/*
 * In which zone somebody sees and gives times. Their browser keeps it, since nothing else is told of it: no other browser,
 * and nobody else who administers the board.
 */

const cookieName = 'idea_board_zone';
const yearSeconds = 365 * 86_400;

/** The zone that the address names, else the one used last in this browser, else UTC. */
export function chosenZone({ query, cookies }: FastifyRequest): string {
  const named = fieldOf(query, 'zone');
  const kept = cookies[cookieName] ?? '';
  return [named, kept].find(isTimeZone) ?? 'UTC';
}

export function rememberZone(reply: FastifyReply, { BASE_URL }: Pick<Config, 'BASE_URL'>, zone: string) {
  reply.setCookie(cookieName, zone, {
    path: '/admin',
    httpOnly: true,
    sameSite: 'lax',
    secure: BASE_URL.startsWith('https:'),
    maxAge: yearSeconds,
  });
}
