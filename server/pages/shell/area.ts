import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { BusyError } from '../../domain/queue.ts';
import { type AccountOfUser, newestNotifications } from '../../domain/sign-in/session.ts';
import { type TextKey, t } from '../../text/catalogue.ts';
import { copyScript } from './assets.ts';
import { guardForms } from './form.ts';
import { writeForReaderOf } from './language.ts';
import { definePage, type Frame, type Link, sendPage } from './page.ts';
import { refusalOf } from './refusal.ts';
import { accountAround, pathIn, type ReadUser, readBrowserSessions, type SessionCookie, sessionOf } from './session.ts';
import { shownName } from './show.ts';
import { loadTemplate } from './template.ts';

/** An area of the website with its own navigation, forms and sessions, such as the admin area. */
export interface Area {
  /** Returns the page for a template in the folder of the area, such as tokens/tokens. */
  pageOf(template: string): ReturnType<typeof definePage>;
  /** Returns the layout data of a page for a signed-in user, with the navigation of the area. */
  frameOf(request: FastifyRequest, account: AccountOfUser | undefined, title: string): Frame;
}

export interface OwnArea extends Area {
  /** The default link on an error page, if neither the error nor `wayBack` has a link. */
  home: { label: TextKey; href: string };
  /**
   * Returns the link to the page that contains the form of a request, for a refused form. Uses only the URL, because the
   * server may refuse a form before it has read anything else.
   */
  wayBack?: (request: FastifyRequest) => Link | undefined;
  /** The cookie that contains the session token. The default is `session`. */
  sessionCookie?: SessionCookie;
  /** Reads the user of a session. The default is readSession. */
  readUser?: ReadUser;
}

declare module 'fastify' {
  interface FastifyInstance {
    area: Area;
  }
}

/** The maximum size of a submitted form. It is enough for a few fields and a grant on each board of an account. */
const maxFormBytes = 64 * 1024;

/**
 * Adds sessions, forms and the error pages for refused requests to a plugin. Call this function before the plugin
 * registers its routes.
 */
export async function openArea(app: FastifyInstance, server: ServerDependencies, area: OwnArea) {
  await app.register(cookie);
  await app.register(formbody, { bodyLimit: maxFormBytes });
  app.decorate('area', area);
  app.addHook('onRequest', async request => {
    request.wayBack = () => area.wayBack?.(request);
  });
  guardForms(app, server);
  readBrowserSessions(app, server, area.sessionCookie, area.readUser);
  answerRefusals(app, area);
}

/**
 * Compiles all templates in a folder of server/, so that the server does not start with a broken template. Each page in
 * `copyPages` shows a new secret, and has a button that copies the secret.
 */
export function definePages(folder: string, copyPages: readonly string[] = []): Area['pageOf'] {
  const cwd = resolve(import.meta.dirname, '../..', folder);
  const pages = new Map(
    globSync('**/*.eta', { cwd }).map(file => {
      const name = file.slice(0, -'.eta'.length);
      return [name, definePage(`${folder}/${name}`, { script: copyPages.includes(name) ? copyScript : undefined })];
    }),
  );
  return template => {
    const page = pages.get(template);
    if (!page) throw new Error(`There is no template ${template} in server/${folder}`);
    return page;
  };
}

const renderActions = loadTemplate<object>('pages/shell/parts/session-actions');

/** Returns the part of the layout data that shows the signed-in user, and the form_token for the user's forms. */
export function signedIn(request: FastifyRequest, account: AccountOfUser | undefined) {
  const { user, tokenHash } = sessionOf(request);
  return {
    actions: renderActions({
      name: shownName(user.name),
      isOperator: user.is_operator,
      profilePath: pathIn(request, account, '/admin/profile'),
      notificationsPath: pathIn(request, account, '/admin/profile/notifications'),
      unread: describeUnread(user.unread_count),
    }),
    formToken: request.server.formTokenOf(tokenHash),
  };
}

function describeUnread(count: number): string | undefined {
  if (count === 0) return undefined;
  return count < newestNotifications ? String(count) : `${newestNotifications}+`;
}

const busyRetrySeconds = 60;

const refusalPage = definePage<object>('pages/shell/refusal');

/** Answers refused requests with error pages. Signed-in users also get the usual navigation. */
function answerRefusals(app: FastifyInstance, { frameOf, home }: OwnArea) {
  app.addHook('onRequest', async request => {
    if (request.browserSession) request.frameOfError = title => frameOf(request, accountAround(request), title);
  });
  const answer = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const refusal = refusalOf(error);
    if (!refusal) throw error;
    const { title, status, message: explanation } = refusal;
    const link = refusal.link ?? request.wayBack?.() ?? { label: t(home.label), href: home.href };
    if (error instanceof BusyError) reply.header('Retry-After', busyRetrySeconds);
    const page = refusalPage(request.frameOfError?.(title) ?? { title }, { title, explanation, link });
    return sendPage(reply, page, status);
  };
  app.setErrorHandler<FastifyError>((error, request, reply) =>
    writeForReaderOf(request, () => answer(error, request, reply)),
  );
}
