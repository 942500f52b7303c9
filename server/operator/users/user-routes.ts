import type { ServerDependencies } from '../../dependencies.ts';
import { requireAccount } from '../../domain/accounts/find-account.ts';
import { type Administration, AdministrationError, invalid } from '../../domain/administration.ts';
import { cancelUserDeletion, findHolds, requestUserDeletion } from '../../domain/erasure/request-deletion.ts';
import { blockUser, unblockUser } from '../../domain/users/block-user.ts';
import { listUserPage, readUserSummary, type UserSummary } from '../../domain/users/list-users.ts';
import { showErasure, showList, shownAddress, shownName, showTime } from '../../pages/shell/show.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import {
  type AskForPassword,
  changeRoute,
  type OperatorRoute,
  type OperatorVisit,
  operate,
  searchOf,
} from '../shell/change.ts';

const usersPerPage = 25;

const notices = textKeysIn('operator.users.notices');

export function userRoutes({ config, clock }: ServerDependencies, askForPassword: AskForPassword): OperatorRoute[] {
  const graceHours = config.USER_DELETION_GRACE_HOURS;

  async function showUsers(visit: OperatorVisit) {
    const search = searchOf(visit);
    const { rows, hasMore } = await operate(visit, admin =>
      listUserPage(admin, { search, before: visit.number('before'), limit: usersPerPage }),
    );
    const data = {
      users: rows.map(present),
      q: search ?? '',
      ...visit.pageLinks('/operator/users', 'before', hasMore && rows.at(-1)?.id, {
        kept: search === undefined ? {} : { q: search },
      }),
    };
    return visit.page('users/list', t('operator.users.title'), data);
  }

  async function showUser(visit: OperatorVisit) {
    const { user, holds } = await operate(visit, async admin => {
      const user = await readUserSummary(admin, visit.id());
      return { user, holds: await findHolds(admin, user.id) };
    });
    const data = {
      user: present(user),
      isSelf: user.id === visit.user.id,
      holds: showList(holds),
      accounts: user.accounts.map(account => ({
        slug: account.slug,
        href: `/operator/accounts/${account.id}`,
        role: account.role === null ? t('operator.users.not_a_member') : t(`shell.roles.${account.role}`),
        isBlocked: account.is_blocked,
        reason: shortLine(account.block_reason ?? '', 500, ''),
        blockPath: pathOf(user, account.is_blocked ? 'unblock' : 'block', account.slug),
      })),
    };
    return visit.page('users/user', data.user.name, data, { notices });
  }

  function present(user: UserSummary) {
    return {
      id: user.id,
      name: shownName(user.name),
      email: shownAddress(user.email),
      isOperator: user.is_operator,
      accounts: user.accounts.length,
      isBlocked: user.accounts.some(account => account.is_blocked),
      isErasing: user.erasure_began_at !== null,
      isScheduled: user.deletion_requested_at !== null && user.erasure_began_at === null,
      erasedFrom: showErasure(user.deletion_requested_at, graceHours),
      created: showTime(new Date(user.created_at)),
    };
  }

  const readFor = (visit: OperatorVisit) => operate(visit, admin => readUserSummary(admin, visit.id()));
  const nameOf = (user: UserSummary) => `${shownName(user.name)} (${shownAddress(user.email)})`;
  const backTo = (user: UserSummary) => ({ label: t('operator.users.back'), href: `/operator/users/${user.id}` });
  const slugField = (visit: OperatorVisit) => ({
    name: 'slug',
    label: t('operator.users.slug'),
    value: visit.isSent ? visit.field('slug') : visit.parameter('in'),
    required: true,
    maxlength: 63,
    autocomplete: 'off',
    autocapitalize: 'none',
    spellcheck: 'false',
  });

  return [
    { path: '/operator/users', show: showUsers },
    { path: '/operator/users/:id', show: showUser },
    changeRoute(askForPassword, {
      path: '/operator/users/:id/block',
      async ask(visit) {
        const user = await readFor(visit);
        return {
          heading: t('shell.questions.block_html', { name: nameOf(user) }),
          explanation: t('operator.users.block.explanation'),
          fields: [
            slugField(visit),
            {
              name: 'reason',
              label: t('shell.labels.reason'),
              isOptional: true,
              isLong: true,
              value: visit.field('reason'),
              maxlength: 500,
              hint: t('operator.users.block.reason_hint'),
            },
          ],
          button: t('operator.users.block.button'),
          isDangerous: true,
          back: backTo(user),
        };
      },
      async run(admin, visit) {
        const { id: userId } = await readUserSummary(admin, visit.id());
        const { id: accountId } = await enteredAccount(admin, visit);
        await blockUser(admin, { accountId, userId }, visit.field('reason'));
        return `/operator/users/${userId}?notice=blocked`;
      },
    }),
    changeRoute(askForPassword, {
      path: '/operator/users/:id/unblock',
      async ask(visit) {
        const user = await readFor(visit);
        return {
          heading: t('shell.questions.unblock_html', { name: nameOf(user) }),
          explanation: t('operator.users.unblock.explanation'),
          fields: [slugField(visit)],
          button: t('operator.users.unblock.button'),
          back: backTo(user),
        };
      },
      async run(admin, visit) {
        const { id: userId } = await readUserSummary(admin, visit.id());
        const { id: accountId } = await enteredAccount(admin, visit);
        await unblockUser(admin, { accountId, userId });
        return `/operator/users/${userId}?notice=unblocked`;
      },
    }),
    changeRoute(askForPassword, {
      path: '/operator/users/:id/delete',
      async ask(visit) {
        const user = await readFor(visit);
        if (user.deletion_requested_at !== null) return backTo(user).href;
        const holds = await operate(visit, admin => findHolds(admin, user.id));
        const { text: time } = showErasure(clock.now().toISOString(), graceHours) ?? { text: '' };
        return {
          heading: t('shell.questions.delete_html', { name: nameOf(user) }),
          explanation: t('operator.users.delete.explanation', { time }),
          facts:
            holds.length === 0
              ? []
              : [
                  {
                    term: t('operator.users.delete.not_erased_while'),
                    text: t('operator.users.delete.holds', { holds: showList(holds) }),
                  },
                ],
          button: t('operator.users.delete.button'),
          isDangerous: true,
          back: backTo(user),
        };
      },
      async run(admin, visit) {
        const { id } = await readUserSummary(admin, visit.id());
        await requestUserDeletion(admin, id);
        return `/operator/users/${id}?notice=scheduled`;
      },
    }),
    changeRoute(askForPassword, {
      path: '/operator/users/:id/keep',
      async ask(visit) {
        const user = await readFor(visit);
        if (user.deletion_requested_at === null || user.erasure_began_at !== null) return backTo(user).href;
        return {
          heading: t('shell.questions.keep_html', { name: nameOf(user) }),
          explanation: t('operator.users.keep.explanation'),
          button: t('shell.labels.cancel_deletion'),
          back: backTo(user),
        };
      },
      async run(admin, visit) {
        const { id } = await readUserSummary(admin, visit.id());
        await cancelUserDeletion(admin, id);
        return `/operator/users/${id}?notice=kept`;
      },
    }),
  ];
}

/** Finds the account with the entered slug. An unknown slug refuses the form, so that the operator can correct it. */
async function enteredAccount(admin: Administration, visit: OperatorVisit) {
  try {
    return await requireAccount(admin, visit.field('slug').trim());
  } catch (error) {
    const isUnknown = error instanceof AdministrationError && error.reason === 'not_found';
    throw isUnknown ? invalid(error.message) : error;
  }
}

function pathOf(user: UserSummary, change: 'block' | 'unblock', slug: string): string {
  return `/operator/users/${user.id}/${change}?${new URLSearchParams({ in: slug })}`;
}
