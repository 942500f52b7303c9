import { type StatusCategory, statusCategories } from '../../../contract/status.ts';
import { AdministrationError } from '../../domain/administration.ts';
import {
  addStatus,
  listStatusesInUse,
  readStatusInUse,
  removeStatus,
  requireStatus,
  type StatusInUse,
  updateStatus,
} from '../../domain/statuses/board-statuses.ts';
import { definePage } from '../../pages/shell/page.ts';
import type { Problem } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import { showCount, shownName } from '../shell/show.ts';
import type { Question, Route, Visit } from '../shell/visit.ts';
import { boardPage, listOf, onBoard, pathOnBoard, placeIn } from './board-page.ts';

const listPage = definePage<object>('admin/boards/statuses');
const statusPage = definePage<object>('admin/boards/status');

const perPage = 20;

const notices = {
  added: 'The status is added.',
  moved: 'The order is changed.',
  saved: 'The status is saved.',
  removed: 'The status is removed.',
};

const path = '/admin/boards/:slug/statuses';

/** The statuses of a board in their order, and each status. */
export const statusRoutes: Route[] = [
  {
    path,
    show: showList,
    run: async visit => {
      await onBoard(visit, async (admin, board) => addStatus(admin, board, readFields(visit)));
      return pathOnBoard(visit, 'statuses', { notice: 'added' });
    },
  },
  {
    path: `${path}/:key`,
    show: showStatus,
    run: async visit => {
      await onBoard(visit, async (admin, board) =>
        updateStatus(admin, await requireStatus(admin, board, visit.word('key')), readFields(visit)),
      );
      return pathOnBoard(visit, 'statuses', { notice: 'saved' });
    },
  },
  { path: `${path}/:key/move`, run: moveStatus },
  {
    path: `${path}/:key/remove`,
    ask: askToRemove,
    run: async visit => {
      await onBoard(visit, async (admin, board) =>
        removeStatus(admin, await requireStatus(admin, board, visit.word('key'))),
      );
      return pathOnBoard(visit, 'statuses', { notice: 'removed' });
    },
    again: (visit, problem) => showList(visit, problem, false),
  },
];

/** The form names the new place and not a direction, so that a double click moves a status once. */
async function moveStatus(visit: Visit) {
  const key = visit.word('key');
  const position = Number.parseInt(visit.field('position'), 10) || 1;
  await onBoard(visit, async (admin, board) =>
    updateStatus(admin, await requireStatus(admin, board, key), { position }),
  );
  const page = Math.ceil(position / perPage);
  const parameters = { notice: 'moved', ...(page > 1 ? { page: String(page) } : {}) };
  return `${pathOnBoard(visit, 'statuses', parameters)}#status-${key}`;
}

async function askToRemove(visit: Visit): Promise<Question> {
  const { status } = await read(visit);
  const label = shownName(status.label);
  const list = pathOnBoard(visit, 'statuses');
  const count = status.idea_count + status.pending_count;
  if (count > 0) {
    throw new Refusal(
      409,
      'Ideas have this status',
      `There ${count === 1 ? 'is' : 'are'} ${showCount(count, 'idea')} with the status ${label}. Move what has it to another one first.`,
      { label: 'To the statuses', href: list },
    );
  }
  return {
    title: 'Remove a status',
    verb: 'Remove',
    name: label,
    explanation: `Clients that set the status ${status.key} are answered 422 invalid_status from then on.`,
    button: 'Remove the status',
    isDangerous: true,
    back: { label: 'Keep it', href: list },
  };
}

function read(visit: Visit) {
  return onBoard(visit, async (admin, board) => ({
    board,
    status: await readStatusInUse(admin, board, visit.word('key')),
  }));
}

async function showList(visit: Visit, problem?: Problem, isOfForm = problem !== undefined) {
  const { board, statuses } = await onBoard(visit, async (admin, board) => ({
    board,
    statuses: await listStatusesInUse(admin, board, placeIn(visit, perPage)),
  }));
  const shown = statuses.map(status => presentStatus(visit, status));
  const data = {
    statuses: listOf(visit, shown, {
      perPage,
      next: 'More statuses',
      path: page => pathOnBoard(visit, 'statuses', page),
    }),
    form: shownForm(isOfForm ? readForm(visit) : emptyForm),
    addPath: pathOnBoard(visit, 'statuses'),
    isOfForm,
  };
  return boardPage(visit, board, { template: listPage, tab: 'statuses' }, data, { notices, problem });
}

async function showStatus(visit: Visit, problem?: Problem) {
  const { board, status } = await read(visit);
  const data = {
    status: presentStatus(visit, status),
    form: shownForm(problem ? readForm(visit) : formOf(status)),
    listPath: pathOnBoard(visit, 'statuses'),
  };
  return boardPage(visit, board, { template: statusPage, tab: 'statuses', title: 'Status' }, data, { problem });
}

function presentStatus(visit: Visit, status: StatusInUse) {
  const { key, position, pending_count: pending } = status;
  const pathOf = (verb = '') => pathOnBoard(visit, `statuses/${key}${verb}`);
  return {
    key,
    /** As parts/status shows it on the board. */
    status: { label: shownName(status.label), category: status.category },
    flags: [
      ...(status.is_hidden ? ['Hidden'] : []),
      ...(status.allow_votes ? [] : ['No votes']),
      ...(status.allow_comments ? [] : ['No comments']),
    ],
    ideas: status.idea_count === 0 ? 'no ideas' : showCount(status.idea_count, 'idea'),
    pending: pending > 0 ? `${showCount(pending, 'more', 'more')} awaiting approval` : undefined,
    before: position > 1 ? position - 1 : undefined,
    after: position < status.status_count ? position + 1 : undefined,
    editPath: pathOf(),
    movePath: pathOf('/move'),
    removePath: pathOf('/remove'),
  };
}

const emptyForm = { key: '', label: '', category: '', isHidden: false, allowVotes: true, allowComments: true };

function readForm(visit: Visit): typeof emptyForm {
  return {
    key: visit.field('key').trim(),
    label: visit.field('label'),
    category: visit.field('category'),
    isHidden: visit.field('is_hidden') !== '',
    allowVotes: visit.field('allow_votes') !== '',
    allowComments: visit.field('allow_comments') !== '',
  };
}

function readFields(visit: Visit) {
  const form = readForm(visit);
  const category = statusCategories.find(one => one === form.category);
  if (!category) throw new AdministrationError('invalid', 'Choose a category');
  return { ...form, category };
}

function formOf({ key, label, category, is_hidden, allow_votes, allow_comments }: StatusInUse): typeof emptyForm {
  return { key, label, category, isHidden: is_hidden, allowVotes: allow_votes, allowComments: allow_comments };
}

function shownForm(form: typeof emptyForm) {
  const categories = statusCategories.map(value => ({
    value,
    ...categoryWords[value],
    isChosen: value === form.category,
  }));
  return { ...form, categories };
}

const categoryWords: Record<StatusCategory, { label: string; meaning: string }> = {
  inbox: { label: 'Inbox', meaning: 'Nobody has decided yet. New ideas start in the first status of it.' },
  planned: { label: 'Planned', meaning: 'It will be done, or looked into.' },
  active: { label: 'Active', meaning: 'Somebody works on it.' },
  completed: { label: 'Completed', meaning: 'It is done.' },
  declined: { label: 'Declined', meaning: 'It will not be done.' },
  archived: { label: 'Archived', meaning: 'It is put away.' },
};
