import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { updateAccount } from '../../domain/accounts/edit-account.ts';
import { type AccountView, readAccount, requireAccountById } from '../../domain/accounts/find-account.ts';
import { maxJoinDomains } from '../../domain/accounts/join-rule.ts';
import { cancelAccountDeletion, scheduleAccountDeletion } from '../../domain/erasure/request-deletion.ts';
import { joinRules } from '../../entities/account.ts';
import { optionsOf } from '../../pages/shell/choices.ts';
import { FormProblem, ownProblemOf, type Problem } from '../../pages/shell/form.ts';
import { hasAgentApi, isOwner, pathIn, requireAdminAccount, requireOwnedAccount } from '../../pages/shell/session.ts';
import { showErasure, shownAddress, shownName, showTime } from '../../pages/shell/show.ts';
import { serveRoutes, type Visit } from '../../pages/shell/visit.ts';
import { askForOwnPassword } from '../../pages/sign-in/own-password.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import { type Html, html } from '../../text/html.ts';

const notices = textKeysIn('account.notices');

/** The maximum number of owners that the account page names, so that their names fill at most two lines. */
const maxOwners = 5;

/**
 * Serves the page of an account. Owners and admins see the page, set who may join, and can require that members sign in
 * with a provider. Only owners change or delete the account, or cancel its deletion.
 */
export function serveAccount(app: FastifyInstance, server: ServerDependencies) {
  const { clock, config } = server;
  const graceDays = config.ACCOUNT_DELETION_GRACE_DAYS;
  const askForPassword = askForOwnPassword(server);

  serveRoutes(app, server, requireAdminAccount, [
    { path: '/admin/account', show: showAccount },
    { path: '/admin/account/joining', run: saveJoining, again: showRefusedJoining },
    { path: '/admin/account/require-provider', run: saveRequiredProvider },
  ]);
  serveRoutes(app, server, requireOwnedAccount, [
    { path: '/admin/account', run: saveAccount, again: showAccount },
    { path: '/admin/account/second-factor', run: saveSecondFactor },
    { path: '/admin/account/delete', show: askForDeletion, run: scheduleDeletion, problemOf: ownProblemOf },
    { path: '/admin/account/keep', run: keepAccount },
  ]);

  async function showAccount(visit: Visit, problem?: Problem, refusedForm = 'account') {
    const view = await visit.administer(admin => readAccount(admin, visit.account.id));
    const data = {
      name: shownName(view.name),
      slug: view.slug,
      plan: t(hasAgentApi(view, config) ? 'account.facts.plan_with_api' : 'account.facts.plan_without_api', {
        plan: view.plan,
      }),
      owners: presentOwners(view.owners),
      boardCount: view.board_count,
      memberCount: view.member_count,
      created: showTime(new Date(view.created_at)),
      erasedFrom: showErasure(view.deletion_scheduled_at, graceDays * 24),
      isOwner: isOwner(visit.account),
      form: problem && refusedForm === 'account' ? givenIn(visit) : view,
      joining: presentJoining(problem && refusedForm === 'joining' ? joiningIn(visit) : joiningOf(view)),
      maxJoinDomains,
      isMailed: config.SMTP_URL !== undefined,
      requiresSecondFactor: view.requires_second_factor,
      refusedForm: problem && refusedForm,
    };
    return visit.page('account/account', t('account.title'), data, { notices, problem });
  }

  async function saveAccount(visit: Visit) {
    const { account } = visit;
    const given = givenIn(visit);
    await update(visit, given);
    return pathIn(visit.request, { ...account, slug: given.slug }, '/admin/account', { notice: 'saved' });
  }

  function showRefusedJoining(visit: Visit, problem: Problem) {
    return showAccount(visit, problem, 'joining');
  }

  async function saveJoining(visit: Visit) {
    const { rule, domains } = joiningIn(visit);
    // The form always sends the e-mail domains. The server ignores the domains unless the chosen joining rule uses
    // domains.
    await update(visit, { joinRule: rule, joinDomains: rule === 'domains' ? listIn(domains) : [] });
    return visit.path('/admin/account', { notice: 'saved' });
  }

  async function saveSecondFactor(visit: Visit) {
    await update(visit, { requiresSecondFactor: visit.field('requires_second_factor') !== '' });
    return visit.path('/admin/account', { notice: 'saved' });
  }

  async function saveRequiredProvider(visit: Visit) {
    await update(visit, { requiresProvider: visit.field('requires_provider') !== '' });
    return visit.path('/admin/account/providers', { notice: 'required' });
  }

  async function askForDeletion(visit: Visit, problem?: Problem) {
    const view = await visit.administer(admin => readAccount(admin, visit.account.id));
    // Redirects without a notice, because the account page already shows the scheduled deletion.
    if (view.deletion_scheduled_at !== null) return visit.path('/admin/account');
    const data = {
      name: shownName(view.name),
      slug: view.slug,
      givenSlug: visit.field('slug').trim(),
      email: shownAddress(visit.user.email),
      boardCount: view.board_count,
      memberCount: view.member_count,
      graceDays,
      erasedFrom: showErasure(clock.now().toISOString(), graceDays * 24),
    };
    return visit.page('account/delete', t('account.delete.title'), data, { problem });
  }

  /** Requires the account's slug and the owner's password, because nobody can restore an erased account. */
  async function scheduleDeletion(visit: Visit) {
    const { id, slug } = visit.account;
    if (visit.field('slug').trim() !== slug) {
      throw new FormProblem(422, t('account.delete.wrong_slug', { slug }));
    }
    await askForPassword(visit);
    await visit.administer(admin => scheduleAccountDeletion(admin, id));
    return visit.path('/admin/account');
  }
}

function update(visit: Visit, changes: Parameters<typeof updateAccount>[2]) {
  return visit.administer(async admin =>
    updateAccount(admin, await requireAccountById(admin, visit.account.id), changes),
  );
}

async function keepAccount(visit: Visit) {
  await visit.administer(admin => cancelAccountDeletion(admin, visit.account.id));
  return visit.path('/admin/account', { notice: 'kept' });
}

function presentOwners(addresses: readonly string[]): Html {
  const shown = addresses.slice(0, maxOwners);
  const owners = html`${shown.map((owner, index) => html`${index > 0 && ', '}<bdi>${shownAddress(owner)}</bdi>`)}`;
  const count = addresses.length - shown.length;
  return count === 0 ? owners : t('account.facts.more_owners_html', { owners, count });
}

interface Joining {
  rule: string;
  domains: string;
}

function presentJoining({ rule, domains }: Joining) {
  return {
    rules: optionsOf(
      joinRules.map(one => [one, t(`account.joining.rules.${one}`)]),
      rule,
    ),
    domains,
  };
}

function joiningOf({ join_rule: rule, join_domains: domains }: AccountView): Joining {
  return { rule, domains: domains.join('\n') };
}

function joiningIn(visit: Visit): Joining {
  return { rule: visit.field('join_rule'), domains: visit.field('join_domains') };
}

/** Splits a list of domains at spaces, line breaks and commas. */
function listIn(text: string): string[] {
  return text.split(/[\s,]+/).filter(part => part !== '');
}

function givenIn(visit: Visit) {
  return { name: visit.field('name'), slug: visit.field('slug').trim() };
}
