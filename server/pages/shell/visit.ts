import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { Administration } from '../../domain/administration.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { hasOwnAddress } from '../../domain/identities/own-address.ts';
import { type Place, placeOf } from '../../domain/pagination.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { type TextKey, type TextValues, t } from '../../text/catalogue.ts';
import type { Html } from '../../text/html.ts';
import { fieldOf, idFieldOf, type Problem, problemOf } from './form.ts';
import { definePage, type Frame, type Link, sendPage } from './page.ts';
import { requireSecondFactorOfAdmins } from './second-factor.ts';
import { administer, nameAccount, pathIn, requireSession, sessionOf } from './session.ts';
import { shownName } from './show.ts';

/*
 * How a feature serves its pages and forms:
 *
 *   serveRoutes(app, server, requireAdminAccount, [
 *     { path: '/admin/things', show: showThings, run: addThing },
 *     { path: '/admin/things/:id/delete', ask: visit => …, run: deleteThing },
 *   ]);
 *
 * GET calls `show` or `ask`. POST calls `run`. If `run` refuses the form, POST calls `again` with the problem, or
 * `show` if the route has no `again`. Each function gets the visit: the request with its account, and the methods that
 * answer the request.
 */

/** The result of a request: a page, a path to redirect to, or a file that the browser saves. */
export type Answer = string | { page: Html; status: number } | FileAnswer;

interface FileAnswer {
  file: AsyncIterable<string>;
  /** The name of the saved file. */
  name: string;
  /** The media type of the file. Its text is in UTF-8. */
  type: 'application/json' | 'text/csv';
}

/**
 * A page and its forms. If the page belongs to no account and its user has no account, the account of the visit is
 * undefined.
 */
export interface Route<Account extends AccountOfUser | undefined = AccountOfUser> {
  path: string;
  /**
   * Whether caches may store the page. All visitors without a session must then get the same page, except for its
   * language.
   */
  isPublicPage?: boolean;
  show?: (visit: Visit<Account>, problem?: Problem) => Answer | Promise<Answer>;
  /** Returns a question that the person must confirm before `run`. */
  ask?: (visit: Visit<Account>) => Question | Promise<Question>;
  run?: (visit: Visit<Account>) => Promise<Answer>;
  /**
   * Shows the page again after `run` refused the form. The default is `show`. If a route has neither function, the
   * person gets an error page.
   */
  again?: (visit: Visit<Account>, problem: Problem) => Answer | Promise<Answer>;
  /** Returns the problem that the form shows for an error of `run`. Rethrows an error that the form does not show. */
  problemOf?: (error: unknown) => Problem;
}

/**
 * A page that asks a question before an operation that cannot be undone or that affects other people. The form on this
 * page sends the confirmation to the URL of the page.
 */
export interface Question {
  /** The question as the heading of the page, such as `Revoke <name>?` */
  heading: Html;
  /** The effects of the operation, in one or two sentences. */
  explanation: string;
  details?: Html;
  /** A checkbox for an optional part of the operation. The checkbox is checked by default. */
  choice?: { name: string; label: string } | undefined;
  /** A field for an optional text. */
  field?: { name: string; label: string; hint: string; maxlength: number; value?: string } | undefined;
  button: string;
  isHarmless?: boolean;
  back: Link;
  /** The layout data of the page, if it differs from the layout data of the other pages in this area. */
  frame?: Frame;
}

/**
 * Adds routes to the server. The `onRequest` hooks check the session. Without hooks, everybody can use the routes. If the
 * body of a form was late, the hooks run again after the body, because the person may have lost a right meanwhile.
 */
export function serveRoutes<Account extends AccountOfUser | undefined>(
  app: FastifyInstance,
  server: ServerDependencies,
  accountOf: (request: FastifyRequest) => Account,
  routes: readonly Route<Account>[],
  onRequest: onRequestAsyncHookHandler[] = [requireSession, nameAccount, requireSecondFactorOfAdmins],
) {
  const config = { isForVisitors: onRequest.length === 0 };
  const preHandler = onRequest.map((hook): onRequestAsyncHookHandler => {
    return async (request, reply) => (request.isBodyLate ? hook.call(app, request, reply) : undefined);
  });
  const answerWith = (answerOf: (visit: Visit<Account>) => Answer | Promise<Answer>) => {
    return async (request: FastifyRequest, reply: FastifyReply) => {
      const answer = await answerOf(new Visit(server, request, reply, accountOf(request)));
      if (typeof answer === 'string') return reply.redirect(answer, 303);
      return 'file' in answer ? sendFile(reply, answer) : sendPage(reply, answer.page, answer.status);
    };
  };
  for (const { path, isPublicPage = false, show, ask, run, again = show, problemOf: explain = problemOf } of routes) {
    const get = ask ? async (visit: Visit<Account>) => visit.question(await ask(visit)) : show;
    if (get) {
      const handler = answerWith(visit => get(visit));
      app.get(path, { onRequest, config: { isPublicPage } }, handler);
    }
    if (run) {
      const handler = answerWith(async visit => {
        try {
          return await run(visit);
        } catch (error) {
          if (!again) throw error;
          return again(visit, explain(error));
        }
      });
      app.post(path, { onRequest, preHandler, config }, handler);
    }
  }
}

/**
 * Sends a file piece by piece while the server writes it. If writing fails, the server breaks the connection, so
 * that the browser notices the failure.
 */
function sendFile(reply: FastifyReply, { file, name, type }: FileAnswer) {
  reply.header('Content-Disposition', `attachment; filename="${name}"`).type(`${type}; charset=utf-8`);
  return reply.send(Readable.from(file, { objectMode: false }));
}

/** A request for a page, the account of the page, and methods to answer the request. */
export class Visit<Account extends AccountOfUser | undefined = AccountOfUser> {
  readonly server: ServerDependencies;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly account: Account;

  constructor(server: ServerDependencies, request: FastifyRequest, reply: FastifyReply, account: Account) {
    this.server = server;
    this.request = request;
    this.reply = reply;
    this.account = account;
  }

  /** Throws if the visitor is not signed in. */
  get user() {
    return sessionOf(this.request).user;
  }

  get isSent(): boolean {
    return this.request.method === 'POST';
  }

  field(name: string): string {
    return fieldOf(this.request.body, name);
  }

  parameter(name: string): string {
    return fieldOf(this.request.query, name);
  }

  /** Returns the id in the path, such as in /admin/tokens/:id. Throws not_found for an invalid id. */
  id(name = 'id'): number {
    const id = idFieldOf(this.request.params, name);
    if (id === undefined) throw new DomainError('not_found');
    return id;
  }

  /** Returns the short name in the path, such as a board's slug. Throws not_found for an invalid name. */
  word(name: string): string {
    const text = fieldOf(this.request.params, name);
    if (!/^[a-z0-9_-]{1,63}$/.test(text)) throw new DomainError('not_found');
    return text;
  }

  /**
   * Returns an id in the query, such as the last id of the previous page. Returns undefined for a missing or invalid
   * id.
   */
  number(name: string): number | undefined {
    return idFieldOf(this.request.query, name);
  }

  /** Returns the current page's position in a list with cursors. Throws validation_failed for a wrong cursor. */
  place(sort: string, perPage: number, name = 'cursor'): Place {
    return placeOf({ cursor: this.parameter(name) || undefined }, sort, perPage);
  }

  path(path: string, parameters?: Record<string, string>): string {
    return pathIn(this.request, this.account, path, parameters);
  }

  administer<T>(work: (admin: Administration) => Promise<T>): Promise<T> {
    return administer(this.server, this.request, work);
  }

  /**
   * Renders a page. Its template also gets `path`, `accountName`, the message of `problem`, and the notice that the
   * query parameter `notice` names. To change more of the layout than the title, pass a `Frame` (layout data) in place
   * of the title.
   */
  page(
    template: string | ReturnType<typeof definePage>,
    title: string | Frame,
    data: object,
    { notices = {}, values, problem, status = problem?.status ?? 200 }: Words = {},
  ): Answer {
    const { area } = this.request.server;
    const own = typeof title === 'string' ? { title } : title;
    const { browserSession } = this.request;
    const session = browserSession ? area.frameOf(this.request, this.account, own.title) : {};
    const frame = { ...session, ...own };
    const render = typeof template === 'string' ? area.pageOf(template) : template;
    const notice = this.isSent ? undefined : new Map(Object.entries(notices)).get(this.parameter('notice'));
    const given = {
      path: (path: string) => this.path(path),
      accountName: this.account && shownName(this.account.name),
      // Whether the user has no password, because they can sign in only through an identity provider or an embedding
      // website.
      hasNoPassword: browserSession !== null && !hasOwnAddress(browserSession.user),
      ...data,
      notice: notice && t(notice, values),
      problem: problem?.message,
    };
    return { page: render(frame, given), status };
  }

  question(question: Question, problem?: Problem): Answer {
    const { button, frame = button } = question;
    return this.page(confirmationPage, frame, question, { problem });
  }

  /**
   * Sends the browser to a page of another server after a form. The answer is a page that redirects the browser. An HTTP
   * redirect would not work, because the content security policy does not allow a form to redirect to another server.
   */
  forward(href: string, name: string): Answer {
    return this.page(forwardPage, { title: t('shell.forward.title'), refresh: href }, { href, name });
  }

  /**
   * Returns the links to the next and the first page of a list. `name` is the query parameter with a page's position.
   * `next` is the position of the next page, if there is one. `kept` has the list's other query parameters.
   */
  pageLinks(
    path: string,
    name: string,
    next: string | number | false | null | undefined,
    { kept, section = '' }: { kept?: Record<string, string> | undefined; section?: string } = {},
  ) {
    const href = (place = {}) => this.path(path, { ...kept, ...place }) + section;
    return {
      first: this.parameter(name) === '' ? undefined : { label: t('shell.first_page'), href: href() },
      next: next ? { label: t('shell.next_page'), href: href({ [name]: String(next) }) } : undefined,
    };
  }

  /**
   * Returns one page of a list with numbered pages. Reads one row more than the page shows, to find out whether another
   * page follows.
   */
  async numberedPage<Row, Shown>(
    path: string,
    { perPage, present }: { perPage: number; present: (row: Row) => Shown },
    fetch: (place: { limit: number; offset: number }) => Promise<Row[]>,
  ) {
    const page = Math.min(this.number('page') ?? 1, lastPage);
    const fetched = await fetch({ limit: perPage + 1, offset: (page - 1) * perPage });
    return {
      rows: fetched.slice(0, perPage).map(present),
      ...this.pageLinks(path, 'page', fetched.length > perPage && page + 1),
    };
  }
}

const confirmationPage = definePage<object>('pages/shell/confirmation');
const forwardPage = definePage<object>('pages/shell/forward');

/**
 * The highest allowed page number. Real lists have fewer pages. PostgreSQL can still compute the row offset of this
 * page.
 */
const lastPage = 1_000_000;

/**
 * The notices that a page can show, such as "The name is saved.". The query parameter `notice` has the name of a
 * notice. Each value is the catalogue key of the notice's text.
 */
export type Notices = Readonly<Record<string, TextKey>>;

export interface Words {
  notices?: Notices;
  /** The values for the placeholders in the texts of the notices. */
  values?: TextValues;
  problem?: Problem | undefined;
  status?: number;
}
