import type { FastifyRequest } from 'fastify';
import type { Frame, NavigationLink } from '../../pages/shell/page.ts';
import { frameOf } from '../shell/frame.ts';
import { accountAround, pathIn } from '../shell/session.ts';

/*
 * The pages of whoever is signed in are of no account: somebody who is in none has them, and so has somebody who was
 * blocked in the account that their address still names. Around them stands an account where there is one.
 */

export function ownFrame(request: FastifyRequest, title: string): Frame {
  return frameOf(request, accountAround(request), title);
}

/** The address of one's own page, in which the account stays that was chosen before. */
export function ownPath(request: FastifyRequest, path: string, parameters: Record<string, string> = {}): string {
  return pathIn(request, accountAround(request), path, parameters);
}

const pages = [
  { label: 'Profile', href: '/admin/profile' },
  { label: 'Notifications', href: '/admin/profile/notifications' },
  { label: 'What you follow', href: '/admin/profile/following' },
];

/** From one of the pages to the others. */
export function ownNavigation(request: FastifyRequest, current: string): NavigationLink[] {
  return pages.map(({ label, href }) => ({ label, href: ownPath(request, href), isCurrent: href === current }));
}
