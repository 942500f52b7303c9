import type { ServerDependencies } from '../../dependencies.ts';
import { requireAccount } from '../../domain/accounts/find-account.ts';
import { cancelUserDeletion, findHolds, requestUserDeletion } from '../../domain/erasure/request-deletion.ts';
import { blockUser, unblockUser } from '../../domain/users/block-user.ts';
import { listUserPage, readUserSummary, type UserSummary } from '../../domain/users/list-users.ts';
import { showErasure, shownAddress, shownName, showTime } from '../../pages/shell/show.ts';
import type { Notices } from '../../pages/shell/visit.ts';
import { shortLine } from '../../text/plain-text.ts';
import { type AskForPassword, changeRoute, type OperatorRoute, type OperatorVisit, operate } from '../shell/change.ts';
import { searchOf } from '../shell/search.ts';

const usersPerPage = 25;

const notices = {
  blocked: 'operator.users.notices.blocked',
  unblocked: 'operator.users.notices.unblocked',
  scheduled: 'operator.users.notices.scheduled',
  kept: 'operator.users.notices.kept',
} satisfies Notices;

export function userRoutes({ config, clock }: ServerDependencies, askForPassword: AskForPassword): OperatorRoute[] {
  const graceHours = config.USER_DELETION_GRACE_HOURS;

  async function showList(visit: OperatorVisit) {
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
    return visit.page('users/list', 'Users', data);
  }

  async function showUser(visit: OperatorVisit) {
    const { user, holds } = await operate(visit, async admin => {
      const user = await readUserSummary(admin, visit.id());
      return { user, holds: await findHolds(admin, user.id) };
    });
    const data = {
      user: present(user),
      isSelf: user.id === visit.user.id,
      holds,
      accounts: user.accounts.map(account => ({
        slug: account.slug,
        href: `/operator/accounts/${account.id}`,
        role: account.role ?? 'not a member',
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
  const backTo = (user: UserSummary) => ({ label: 'Back to the user', href: `/operator/users/${user.id}` });
  const slugField = (visit: OperatorVisit) => ({
    name: 'slug',
    label: 'Slug of the account',
    value: visit.isSent ? visit.field('slug') : visit.parameter('in'),
    required: true,
    maxlength: 63,
    autocomplete: 'off',
    autocapitalize: 'none',
    spellcheck: 'false',
  });

  return [
    { path: '/operator/users', show: showList },
    { path: '/operator/users/:id', show: showUser },
    changeRoute(askForPassword, {
      path: '/operator/users/:id/block',
      async ask(visit) {
        const user = await readFor(visit);
        return {
          verb: 'Block',
          name: nameOf(user),
          explanation:
            'While they are blocked in the account, they and their API tokens cannot write there, and they cannot open its pages. Programs that they connected by OAuth are disconnected permanently.',
          fields: [
            slugField(visit),
            {
              name: 'reason',
              label: 'Reason',
              isOptional: true,
              isLong: true,
              value: visit.field('reason'),
              maxlength: 500,
              hint: 'The moderators of the account can read it. At most 500 characters.',
            },
          ],
          button: 'Block the user',
          isDangerous: true,
          back: backTo(user),
        };
      },
      async run(admin, visit) {
        const { id: userId } = await readUserSummary(admin, visit.id());
        const { id: accountId } = await requireAccount(admin, visit.field('slug').trim());
        await blockUser(admin, { accountId, userId }, visit.field('reason'));
        return `/operator/users/${userId}?notice=blocked`;
      },
    }),
    changeRoute(askForPassword, {
      path: '/operator/users/:id/unblock',
      async ask(visit) {
        const user = await readFor(visit);
        return {
          verb: 'Unblock',
          name: nameOf(user),
          explanation: 'They and their API tokens can write in the account again.',
          fields: [slugField(visit)],
          button: 'Unblock the user',
          back: backTo(user),
        };
      },
      async run(admin, visit) {
        const { id: userId } = await readUserSummary(admin, visit.id());
        const { id: accountId } = await requireAccount(admin, visit.field('slug').trim());
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
        const { text } = showErasure(clock.now().toISOString(), graceHours) ?? { text: '' };
        return {
          verb: 'Delete',
          name: nameOf(user),
          explanation: `Until ${text} nothing changes, and you or the user can cancel the deletion. Then the clean-up erases the user. Nobody can undo that. Their ideas and comments stay, under the name “Deleted user”.`,
          facts: holds.length === 0 ? [] : [{ term: 'Not erased while', text: `the user is ${holds.join(' and ')}` }],
          button: 'Request the deletion',
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
          verb: 'Keep',
          name: nameOf(user),
          explanation: 'This cancels the requested deletion of the user. Nothing was erased so far.',
          button: 'Cancel the deletion',
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

function pathOf(user: UserSummary, change: 'block' | 'unblock', slug: string): string {
  return `/operator/users/${user.id}/${change}?${new URLSearchParams({ in: slug })}`;
}
