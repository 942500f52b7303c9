import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { noticeIn } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { administer, findAccount, nameAccount, pathIn, requireSession, sessionOf } from '../shell/session.ts';
import { type ShownTime, shownName, userErasedFrom } from '../shell/show.ts';
import { type AccountAtHome, readAccountAtHome } from './account-at-home.ts';

interface HomeData {
  userName: string;
  email: string;
  account?: AccountAtHome | undefined;
  leavePath?: string | undefined;
  otherAccounts: { name: string; role: string; href: string }[];
  profilePath: string;
  /** When whoever asked for their deletion is erased at the earliest. */
  erasedFrom?: ShownTime | undefined;
  notice?: string | undefined;
  formToken: string;
}

const homePage = definePage<HomeData>('admin/home/home');

/** Where somebody who is signed in arrives: what waits for them, who they are, and where to go from there. */
export function serveHome(app: FastifyInstance, server: ServerDependencies) {
  app.get('/admin', { onRequest: [requireSession, nameAccount] }, async (request, reply) => {
    const { user } = sessionOf(request);
    const account = findAccount(request);
    const data: HomeData = {
      userName: shownName(user.name),
      email: user.email,
      account: account && (await readAccount(request, account)),
      leavePath: account && pathIn(request, account, '/admin/members/leave'),
      otherAccounts: user.accounts
        .filter(one => one !== account)
        .map(one => ({ name: shownName(one.name), role: one.role, href: pathIn(request, one, '/admin') })),
      profilePath: pathIn(request, account, '/admin/profile'),
      erasedFrom: userErasedFrom(user.deletion_requested_at, server.config),
      notice: noticeIn(request, notices),
      formToken: formTokenOf(request),
    };
    return sendPage(reply, homePage(frameOf(request, account, 'Home'), data));
  });

  function readAccount(request: FastifyRequest, account: AccountOfUser) {
    return administer(server, request, admin => readAccountAtHome(admin, request, account, server.config));
  }
}

const notices = {
  kept: 'You stay: nothing of you is erased.',
  joined: 'Welcome: you are a member of the account now.',
  left: 'You have left the account.',
  role: 'You have another role now.',
};
