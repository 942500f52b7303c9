import type { Administration } from '../../domain/administration.ts';
import { type BlockView, blockUser, listBlocks, mayBlock, unblockUser } from '../../domain/users/block-user.ts';
import { type PersonView, requirePerson } from '../../domain/users/read-people.ts';
import type { Problem } from '../../pages/shell/form.ts';
import { Refusal } from '../../pages/shell/refusal.ts';
import { shownName, showTime } from '../../pages/shell/show.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { notices, wayBack, wayOf } from './way-back.ts';

const blocksPerPage = 25;

export const blockRoutes: Route[] = [
  { path: '/admin/blocks', show: showBlocks },
  {
    path: '/admin/blocks/:id',
    show: showPerson,
    run: async visit => {
      const reason = visit.field('reason');
      await onPerson(visit, (admin, person) => blockUser(admin, person, reason));
      return wayBack(visit, '/admin/blocks', { notice: 'blocked' });
    },
  },
  {
    path: '/admin/blocks/:id/end',
    run: async visit => {
      await onPerson(visit, unblockUser);
      return wayBack(visit, '/admin/blocks', { notice: 'unblocked' });
    },
  },
];

function onPerson(visit: Visit, work: (admin: Administration, person: Parameters<typeof unblockUser>[1]) => unknown) {
  const accountId = visit.account.id;
  return visit.administer(async admin => {
    const { id: userId } = await requirePerson(admin, accountId, visit.id());
    await work(admin, { accountId, userId });
  });
}

async function showBlocks(visit: Visit) {
  const place = visit.place('newest', blocksPerPage);
  const { rows, nextCursor } = await visit.administer(admin => listBlocks(admin, visit.account.id, place));
  const data = {
    blocks: rows.map(block => presentBlock(visit, block)),
    ...visit.pageLinks('/admin/blocks', 'cursor', nextCursor),
  };
  return visit.page('moderation/blocks', t('moderation.blocks.title'), data, { notices });
}

function presentBlock(visit: Visit, block: BlockView) {
  const mayUnblock = mayBlock(visit.account.role, block.role);
  return {
    name: shownName(block.name),
    role: roleOf(block),
    reason: block.reason,
    since: showTime(new Date(block.created_at)),
    unblockPath: mayUnblock ? visit.path(`/admin/blocks/${block.user_id}/end`) : undefined,
  };
}

async function showPerson(visit: Visit, problem?: Problem) {
  const person = await visit.administer(admin => requirePerson(admin, visit.account.id, visit.id()));
  const path = `/admin/blocks/${person.id}`;
  const back = { label: t('shell.labels.back'), href: wayBack(visit, '/admin/blocks') };
  checkMay(visit, person, back);
  const data = {
    name: shownName(person.name),
    role: roleOf(person),
    isBlocked: person.is_blocked,
    blockPath: visit.path(path, wayOf(visit)),
    unblockPath: visit.path(`${path}/end`, wayOf(visit)),
    reason: visit.field('reason'),
    back,
  };
  const title = person.is_blocked ? t('moderation.unblock.title') : t('moderation.block.title');
  return visit.page('moderation/block', title, data, { problem });
}

/** Refuses to show the form if the user may not block or unblock the person. */
function checkMay({ account, user }: Visit, person: PersonView, back: { label: string; href: string }) {
  const isSelf = person.id === user.id;
  if (!isSelf && mayBlock(account.role, person.role)) return;
  const why = isSelf
    ? t('moderation.block.self')
    : t('moderation.block.higher_role', {
        name: shownName(person.name),
        role: roleOf(person),
        own_role: t(`shell.roles.${account.role}`),
      });
  throw new Refusal(403, t('shell.refusal.forbidden'), why, back);
}

function roleOf({ role }: Pick<PersonView, 'role'>): string {
  return role === null ? t('moderation.block.no_role') : t(`shell.roles.${role}`);
}
