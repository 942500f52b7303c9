import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { Administration } from '../../domain/administration.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { type definePage, sendPage } from '../../pages/shell/page.ts';
import type { Html } from '../../text/html.ts';
import { fieldOf, idIn, noticeIn, numberIn, type Problem, problemOf, wordIn } from './form.ts';
import { type Confirmation, confirmationPage, formTokenOf, frameOf } from './frame.ts';
import { accountAround, administer, nameAccount, pathIn, requireSession, sessionOf } from './session.ts';

/*
 * How a feature serves its pages and forms:
 *
 *   serveRoutes(app, server, requireAdminAccount, [
 *     { path: '/admin/things', show: showThings, run: addThing },
 *     { path: '/admin/things/:id/delete', ask: visit => …, run: deleteThing },
 *   ]);
 *
 * GET calls `show` or `ask`. POST calls `run`, and where that is refused, `show` with the problem. Each function gets the
 * visit: the request with its account, and the ways to answer it.
 */

/** An answer is a page, or the path to redirect to. */
export type Answer = string | { page: Html; status: number };

/** Some pages belong to no account: their visits have the account that is shown around them, which may be undefined. */
export interface Route<Account extends AccountOfUser | undefined = AccountOfUser> {
  path: string;
  show?: (visit: Visit<Account>, problem?: Problem) => Answer | Promise<Answer>;
  /** Asks for a confirmation before `run`. */
  ask?: (visit: Visit<Account>) => Question | Promise<Question>;
  run?: (visit: Visit<Account>) => Promise<Answer>;
  /** Shows the form again that `run` refused, where `show` does not. Without either, the problem gets an error page. */
  again?: (visit: Visit<Account>, problem: Problem) => Answer | Promise<Answer>;
  /** Tells which errors of `run` are shown with the form. It throws the others. */
  problemOf?: (error: unknown) => Problem;
}

/** By default the form is sent to the path of the question. */
export type Question = Omit<Confirmation, 'action'> & { action?: string };

export function serveRoutes<Account extends AccountOfUser | undefined>(
  app: FastifyInstance,
  server: ServerDependencies,
  accountOf: (request: FastifyRequest) => Account,
  routes: readonly Route<Account>[],
) {
  const onRequest = accountOf === accountAround ? [requireSession] : [requireSession, nameAccount];
  const answerWith = (answerOf: (visit: Visit<Account>) => Answer | Promise<Answer>) => {
    return async (request: FastifyRequest, reply: FastifyReply) => {
      const answer = await answerOf(new Visit(server, request, reply, accountOf(request)));
      return typeof answer === 'string' ? reply.redirect(answer, 303) : sendPage(reply, answer.page, answer.status);
    };
  };
  for (const route of routes) {
    const { path, show, ask, run } = route;
    if (show)
      app.get(
        path,
        { onRequest },
        answerWith(visit => show(visit)),
      );
    if (ask)
      app.get(
        path,
        { onRequest },
        answerWith(async visit => visit.question(await ask(visit))),
      );
    if (run)
      app.post(
        path,
        { onRequest },
        answerWith(visit => runForm(visit, run, route)),
      );
  }
}

async function runForm<Account extends AccountOfUser | undefined>(
  visit: Visit<Account>,
  run: (visit: Visit<Account>) => Promise<Answer>,
  { show, again = show, problemOf: explain = problemOf }: Route<Account>,
): Promise<Answer> {
  if (!again) return run(visit);
  try {
    return await run(visit);
  } catch (error) {
    return again(visit, explain(error));
  }
}

/** A request of somebody who is signed in, and the account that it is about. */
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

  get user() {
    return sessionOf(this.request).user;
  }

  /** Whether a form was sent, and not only a page asked for. */
  get isSent(): boolean {
    return this.request.method === 'POST';
  }

  /** A field of the form; empty where it was not sent. */
  field(name: string): string {
    return fieldOf(this.request.body, name);
  }

  /** The number in the path, such as the one of /admin/tokens/:id. Throws not_found for anything else. */
  id(name?: string): number {
    return idIn(this.request, name);
  }

  /** The short name in the path, such as a board's slug. Throws not_found for what cannot be one. */
  word(name: string): string {
    return wordIn(this.request, name);
  }

  /** A number that the address gives as a parameter. */
  number(name: string): number | undefined {
    return numberIn(this.request, name);
  }

  /** The path of a page in the same account. */
  path(path: string, parameters?: Record<string, string>): string {
    return pathIn(this.request, this.account, path, parameters);
  }

  /** Runs an administrative operation in a transaction. */
  administer<T>(work: (admin: Administration) => Promise<T>): Promise<T> {
    return administer(this.server, this.request, work);
  }

  /**
   * Fills a page. Its template also gets `formToken`, `problem` (a text), and as `notice` the one that the address names.
   */
  page(
    template: ReturnType<typeof definePage<object>>,
    title: string,
    data: object,
    { notices = {}, problem, status = problem?.status ?? 200 }: Words = {},
  ): Answer {
    const page = template(frameOf(this.request, this.account, title), {
      ...data,
      formToken: formTokenOf(this.request),
      notice: this.isSent ? undefined : noticeIn(this.request, notices),
      problem: problem?.message,
    });
    return { page, status };
  }

  question(question: Question): Answer {
    const action = this.path(this.request.url.split('?', 1)[0] ?? '');
    return this.page(confirmationPage, question.title, { action, ...question });
  }
}

interface Words {
  notices?: Readonly<Record<string, string>>;
  problem?: Problem | undefined;
  status?: number;
}

/**
 * The links of a list that is shown page by page, with their labels. `first` is false on the first page, and `next` is
 * missing on the last one. `path` gives the path of the list with the parameters of a page.
 */
export function pageLinks(
  path: (parameters: Record<string, string>) => string,
  { first, next }: { first: string | false; next: [string, Record<string, string>] | '' | null | undefined },
) {
  return {
    first: first === false ? undefined : { label: first, href: path({}) },
    next: next ? { label: next[0], href: path(next[1]) } : undefined,
  };
}
