import type { ServerDependencies } from '../../dependencies.ts';
import { updateAccount } from '../../domain/accounts/edit-account.ts';
import { requireLockedAccount } from '../../domain/accounts/find-account.ts';
import {
  type AccountState,
  type AccountSummary,
  accountStates,
  listAccountPage,
  readAccountSummary,
} from '../../domain/accounts/list-accounts.ts';
import { cancelAccountDeletion, scheduleAccountDeletion } from '../../domain/erasure/request-deletion.ts';
import { listTroubledWebhooks, troubles } from '../../domain/webhooks/list-troubled-webhooks.ts';
import { hasAgentApi } from '../../pages/shell/session.ts';
import { showCount, showErasure, shownAddress, shownName, showTime } from '../../pages/shell/show.ts';
import type { Notices } from '../../pages/shell/visit.ts';
import { type AskForPassword, changeRoute, type OperatorRoute, type OperatorVisit, operate } from '../shell/change.ts';
import { searchOf } from '../shell/search.ts';
import { presentWebhook } from '../webhooks/present-webhook.ts';

const accountsPerPage = 25;
const mostOwners = 5;
const mostWebhooks = 10;

const notices = {
  plan: 'operator.accounts.notices.plan',
  scheduled: 'operator.accounts.notices.scheduled',
  kept: 'operator.accounts.notices.kept',
} satisfies Notices;

const stateLabels: Record<AccountState, { label: string; chip: string }> = {
  active: { label: 'Active', chip: 'chip-completed' },
  scheduled: { label: 'Deletion scheduled', chip: 'chip-active' },
  erasing: { label: 'Being erased', chip: 'chip-declined' },
};

export function accountRoutes({ config, clock }: ServerDependencies, askForPassword: AskForPassword): OperatorRoute[] {
  const graceHours = config.ACCOUNT_DELETION_GRACE_DAYS * 24;

  async function showList(visit: OperatorVisit) {
    const search = searchOf(visit);
    const state = accountStates.find(one => one === visit.parameter('state'));
    const page = { beginning: search, state, before: visit.number('before'), limit: accountsPerPage };
    const { rows, hasMore } = await operate(visit, admin => listAccountPage(admin, page));
    const kept = { ...(search !== undefined && { q: search }), ...(state && { state }) };
    const filter = (label: string, value?: AccountState) => ({
      label,
      href: visit.path('/operator/accounts', {
        ...(search !== undefined && { q: search }),
        ...(value && { state: value }),
      }),
      isCurrent: value === state,
    });
    const data = {
      accounts: rows.map(present),
      q: search ?? '',
      state,
      isFiltered: Object.keys(kept).length > 0,
      filters: [filter('All'), ...accountStates.map(one => filter(stateLabels[one].label, one))],
      ...visit.pageLinks('/operator/accounts', 'before', hasMore && rows.at(-1)?.id, { kept }),
    };
    return visit.page('accounts/list', 'Accounts', data);
  }

  async function showAccount(visit: OperatorVisit) {
    const accountId = visit.id();
    const { account, webhooks } = await operate(visit, async admin => {
      const account = await readAccountSummary(admin, accountId, mostOwners);
      const lists = [];
      for (const trouble of troubles) {
        lists.push(await listTroubledWebhooks(admin, trouble, { accountId, limit: mostWebhooks }));
      }
      return { account, webhooks: lists.flatMap(({ rows }) => rows) };
    });
    const data = {
      account: present(account),
      owners: account.owners.map(({ id, email }) => ({ email: shownAddress(email), href: `/operator/users/${id}` })),
      hasAgentApi: hasAgentApi(account, config),
      // A webhook can be in two lists: it fails or is disabled, and it has dead deliveries.
      webhooks: [...new Map(webhooks.map(webhook => [webhook.id, presentWebhook(webhook)])).values()],
    };
    return visit.page('accounts/account', data.account.name, data, { notices });
  }

  function present(account: AccountSummary) {
    return {
      id: account.id,
      name: shownName(account.name),
      slug: account.slug,
      plan: account.plan,
      state: stateLabels[account.state],
      isScheduled: account.state === 'scheduled',
      isActive: account.state === 'active',
      members: showCount('shell.counts.members', account.member_count),
      boards: showCount('shell.counts.boards', account.board_count),
      ideas: showCount('shell.counts.ideas', account.idea_count),
      created: showTime(new Date(account.created_at)),
      erasedFrom: showErasure(account.deletion_scheduled_at, graceHours),
    };
  }

  const backTo = (account: AccountSummary) => ({
    label: 'Back to the account',
    href: `/operator/accounts/${account.id}`,
  });
  const readFor = (visit: OperatorVisit) => operate(visit, admin => readAccountSummary(admin, visit.id(), 0));

  return [
    { path: '/operator/accounts', show: showList },
    { path: '/operator/accounts/:id', show: showAccount },
    changeRoute(askForPassword, {
      path: '/operator/accounts/:id/plan',
      async ask(visit) {
        const account = await readFor(visit);
        return {
          verb: 'Change the plan of',
          name: shownName(account.name),
          explanation: `The plan is ${account.plan}. The new plan applies at once.`,
          fields: [
            {
              name: 'plan',
              label: 'New plan',
              value: visit.isSent ? visit.field('plan') : account.plan,
              required: true,
              maxlength: 50,
              pattern: '[a-z0-9][a-z0-9_\\-]*',
              autocomplete: 'off',
              autocapitalize: 'none',
              hint: describePlans(config.PLANS_WITHOUT_AGENT_API),
            },
          ],
          button: 'Change the plan',
          back: backTo(account),
        };
      },
      async run(admin, visit) {
        // The lock puts two changes one after the other, so that each audit entry names the plan before it.
        const account = await requireLockedAccount(admin, visit.id());
        await updateAccount(admin, account, { plan: visit.field('plan').trim() });
        return `/operator/accounts/${account.id}?notice=plan`;
      },
    }),
    changeRoute(askForPassword, {
      path: '/operator/accounts/:id/delete',
      async ask(visit) {
        const account = await readFor(visit);
        // The page of the account already shows a scheduled deletion.
        if (account.state !== 'active') return backTo(account).href;
        const { text } = showErasure(clock.now().toISOString(), graceHours) ?? { text: '' };
        return {
          verb: 'Delete',
          name: shownName(account.name),
          explanation: `Until ${text} everything works as before, and you or an owner can cancel the deletion. Then the clean-up erases the account. Nobody can undo that. The owners get a mail now.`,
          facts: [
            { term: 'Slug', text: account.slug },
            {
              term: 'Erased',
              text: `${showCount('shell.counts.boards', account.board_count)}, ${showCount('shell.counts.ideas', account.idea_count)}`,
            },
            { term: 'Ended', text: showCount('operator.accounts.memberships', account.member_count) },
          ],
          button: 'Schedule the deletion',
          isDangerous: true,
          back: backTo(account),
        };
      },
      async run(admin, visit) {
        await scheduleAccountDeletion(admin, visit.id());
        return `/operator/accounts/${visit.id()}?notice=scheduled`;
      },
    }),
    changeRoute(askForPassword, {
      path: '/operator/accounts/:id/keep',
      async ask(visit) {
        const account = await readFor(visit);
        if (account.state !== 'scheduled') return backTo(account).href;
        return {
          verb: 'Keep',
          name: shownName(account.name),
          explanation: 'This cancels the scheduled deletion of the account. Nothing was erased so far.',
          button: 'Cancel the deletion',
          back: backTo(account),
        };
      },
      async run(admin, visit) {
        await cancelAccountDeletion(admin, visit.id());
        return `/operator/accounts/${visit.id()}?notice=kept`;
      },
    }),
  ];
}

function describePlans(without: readonly string[]): string {
  const form = 'Lower-case letters, digits, hyphens and underscores.';
  return without.length === 0
    ? `${form} Every plan includes the Agent API.`
    : `${form} Plans without the Agent API: ${without.join(', ')}.`;
}
