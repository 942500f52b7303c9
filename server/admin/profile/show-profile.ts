import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { findHolds } from '../../domain/erasure/find-holds.ts';
import { maxPasswordLength, minPasswordLength } from '../../domain/sign-in/check-password.ts';
import { readUser } from '../../domain/users/list-users.ts';
import { definePage, type NavigationLink, sendPage } from '../../pages/shell/page.ts';
import { formTokenOf } from '../shell/frame.ts';
import { administer, sessionOf } from '../shell/session.ts';
import { type ShownTime, shownAddress, userErasedFrom } from '../shell/show.ts';
import { ownFrame, ownNavigation, ownPath } from './own-pages.ts';

/** What is shown beside what is there: what was just done, or why a form was refused, with what was entered in it. */
export interface ProfileWords {
  notice?: string | undefined;
  problem?: { message: string; form: 'name' | 'email' | 'notifications' | 'password' } | undefined;
  given?: { name?: string; email?: string; notificationEmail?: string };
}

interface ProfileData {
  navigation: NavigationLink[];
  notice?: string | undefined;
  problem?: ProfileWords['problem'];
  name: string;
  email: string;
  newEmail: string;
  notificationEmail?: string | undefined;
  givenNotificationEmail: string;
  /** Without a mail server no address is confirmed. */
  isMailed: boolean;
  minLength: number;
  maxLength: number;
  /** Whether they asked for their deletion, and from when on they are erased. */
  erasedFrom?: ShownTime | undefined;
  holds: string[];
  paths: Record<'name' | 'email' | 'notificationEmail' | 'password' | 'delete', string>;
  formToken: string;
}

const profilePage = definePage<ProfileData>('admin/profile/profile');

export async function showProfile(
  server: ServerDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { notice, problem, given = {} }: ProfileWords,
  status = 200,
) {
  const { config } = server;
  const { user, holds } = await administer(server, request, async admin => {
    const user = await readUser(admin, sessionOf(request).user.id);
    return { user, holds: user.deletion_requested_at === null ? [] : await findHolds(admin, user.id) };
  });
  const data: ProfileData = {
    navigation: ownNavigation(request, '/admin/profile'),
    notice,
    problem,
    name: given.name ?? user.name,
    email: shownAddress(user.email),
    newEmail: given.email ?? '',
    notificationEmail: user.notification_email === null ? undefined : shownAddress(user.notification_email),
    givenNotificationEmail: given.notificationEmail ?? user.notification_email ?? '',
    isMailed: config.SMTP_URL !== undefined,
    minLength: minPasswordLength,
    maxLength: maxPasswordLength,
    erasedFrom: userErasedFrom(user.deletion_requested_at, config),
    holds,
    paths: {
      name: ownPath(request, '/admin/profile'),
      email: ownPath(request, '/admin/profile/email'),
      notificationEmail: ownPath(request, '/admin/profile/notification-email'),
      password: ownPath(request, '/admin/profile/password'),
      delete: ownPath(request, '/admin/profile/delete'),
    },
    formToken: formTokenOf(request),
  };
  return sendPage(reply, profilePage(ownFrame(request, 'Your profile'), data), status);
}
