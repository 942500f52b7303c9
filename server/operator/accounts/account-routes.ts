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
import { type TextKey, t, textKeysIn } from '../../text/catalogue.ts';
import {
  type AskForPassword,
  changeRoute,
  type OperatorRoute,
  type OperatorVisit,
  operate,
  searchOf,
} from '../shell/change.ts';
import { presentWebhook } from '../webhooks/present-webhook.ts';

const accountsPerPage = 25;
const mostOwners = 5;
const mostWebhooks = 10;

const notices = textKeysIn('operator.accounts.notices');

const states = {
  active: { label: 'operator.accounts.active', chip: 'chip-completed' },
  scheduled: { label: 'operator.accounts.scheduled', chip: 'chip-active' },
  erasing: { label: 'operator.being_erased', chip: 'chip-declined' },
} as const satisfies Record<AccountState, { label: TextKey; chip: string }>;

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
      filters: [filter(t('shell.labels.all')), ...accountStates.map(one => filter(t(states[one].label), one))],
      ...visit.pageLinks('/operator/accounts', 'before', hasMore && rows.at(-1)?.id, { kept }),
    };
    return visit.page('accounts/list', t('operator.accounts.title'), data);
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
      // Removes duplicates: one webhook can be in two lists, because a failing or disabled webhook can also have dead
      // deliveries.
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
      state: { label: t(states[account.state].label), chip: states[account.state].chip },
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
    label: t('operator.accounts.back'),
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
          heading: t('operator.accounts.change_plan.heading_html', { name: shownName(account.name) }),
          explanation: t('operator.accounts.change_plan.explanation', { plan: account.plan }),
          fields: [
            {
              name: 'plan',
              label: t('operator.accounts.change_plan.field'),
              value: visit.isSent ? visit.field('plan') : account.plan,
              required: true,
              maxlength: 50,
              pattern: '[a-z0-9][a-z0-9_\\-]*',
              autocomplete: 'off',
              autocapitalize: 'none',
              hint: describePlans(config.PLANS_WITHOUT_AGENT_API),
            },
          ],
          button: t('operator.accounts.change_plan.button'),
          back: backTo(account),
        };
      },
      async run(admin, visit) {
        // Locks the account, so that parallel changes run one after the other. The audit entry of the second change
        // then names the plan that the first change has set.
        const account = await requireLockedAccount(admin, visit.id());
        await updateAccount(admin, account, { plan: visit.field('plan').trim() });
        return `/operator/accounts/${account.id}?notice=plan`;
      },
    }),
    changeRoute(askForPassword, {
      path: '/operator/accounts/:id/delete',
      async ask(visit) {
        const account = await readFor(visit);
        // If the account is already being deleted, redirects to its page, which shows the time of the scheduled
        // deletion.
        if (account.state !== 'active') return backTo(account).href;
        const { text: time } = showErasure(clock.now().toISOString(), graceHours) ?? { text: '' };
        return {
          heading: t('shell.questions.delete_html', { name: shownName(account.name) }),
          explanation: t('operator.accounts.delete.explanation', { time }),
          facts: [
            { term: t('shell.admin.slug'), text: account.slug },
            {
              term: t('account.delete.erased'),
              text: `${showCount('shell.counts.boards', account.board_count)}, ${showCount('shell.counts.ideas', account.idea_count)}`,
            },
            {
              term: t('account.delete.ended'),
              text: showCount('operator.accounts.memberships', account.member_count),
            },
          ],
          button: t('account.delete.button'),
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
          heading: t('shell.questions.keep_html', { name: shownName(account.name) }),
          explanation: t('operator.accounts.keep.explanation'),
          button: t('shell.labels.cancel_deletion'),
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
  return without.length === 0
    ? t('operator.accounts.change_plan.hint')
    : t('operator.accounts.change_plan.hint_without_api', { plans: without.join(', ') });
}
