import { type Administration, administrationIn } from '../../domain/administration.ts';
import type { Problem } from '../../pages/shell/form.ts';
import type { Link } from '../../pages/shell/page.ts';
import { shownAddress } from '../../pages/shell/show.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import type { askForOwnPassword } from '../../pages/sign-in/own-password.ts';
import type { Html } from '../../text/html.ts';

/** A request to a page of the operator's panel. These pages belong to no account. */
export type OperatorVisit = Visit<undefined>;
export type OperatorRoute = Route<undefined>;

/** Runs an operation on any account in a transaction. The audit entries name the signed-in operator. */
export function operate<T>({ server, user }: OperatorVisit, work: (admin: Administration) => Promise<T>): Promise<T> {
  const { audit, clock, database } = server;
  const actor = { by: 'operator', by_user_id: user.id } as const;
  return database.transaction(transaction => work(administrationIn(transaction, { audit, actor, now: clock.now() })));
}

/** A page where the operator confirms one change. The form of this page asks for the operator's password. */
interface ChangePage {
  /** The question as the heading of the page, such as `Block <name>?` */
  heading: Html;
  explanation: string;
  facts?: { term: string; text: string }[];
  /** The fields of the form, for the template `field`. */
  fields?: object[];
  button: string;
  isDangerous?: boolean;
  back: Link;
}

interface Change {
  path: string;
  /**
   * Returns the page that asks the operator to confirm the change. If the change has already happened, returns a path
   * to redirect to.
   */
  ask: (visit: OperatorVisit) => Promise<ChangePage | string>;
  /** Makes the change. Returns the path of the next page. */
  run: (admin: Administration, visit: OperatorVisit) => Promise<string>;
}

export type AskForPassword = ReturnType<typeof askForOwnPassword>;

/**
 * Returns the route of a change. Every change needs the password of the signed-in operator again, because somebody at
 * an unattended browser could damage all accounts. Wrong passwords count against the rate limits of sign-in.
 */
export function changeRoute(askForPassword: AskForPassword, { path, ask, run }: Change): OperatorRoute {
  return {
    path,
    async show(visit, problem?: Problem) {
      const page = await ask(visit);
      if (typeof page === 'string') return page;
      const data = { ...page, email: shownAddress(visit.user.email), action: visit.request.url };
      return visit.page('shell/change', page.button, data, { problem });
    },
    async run(visit) {
      await askForPassword(visit);
      return operate(visit, admin => run(admin, visit));
    },
  };
}

/** The maximum length of a search text: enough for every e-mail address. */
const maxSearchLength = 254;

/** Returns the search text in the query. Undefined if there is none. */
export function searchOf(visit: OperatorVisit): string | undefined {
  return visit.parameter('q').trim().slice(0, maxSearchLength) || undefined;
}
