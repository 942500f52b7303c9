import { type StatusCategory, statusCategories } from '../../../contract/status.ts';
import { type Administration, AdministrationError } from '../../domain/administration.ts';
import {
  addStatus,
  listStatusesInUse,
  readStatusInUse,
  removeStatus,
  requireStatus,
  type StatusInUse,
  updateStatus,
} from '../../domain/statuses/board-statuses.ts';
import type { Status } from '../../entities/board.ts';
import { optionsOf } from '../../pages/shell/choices.ts';
import type { Problem } from '../../pages/shell/form.ts';
import { Refusal } from '../../pages/shell/refusal.ts';
import { showCount, shownName } from '../../pages/shell/show.ts';
import type { Notices, Question, Route, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { boardPage, onBoard, pathOnBoard } from './board-page.ts';

const perPage = 20;

const notices = {
  added: 'board_settings.statuses.notices.added',
  moved: 'board_settings.statuses.notices.moved',
  saved: 'board_settings.statuses.notices.saved',
  removed: 'board_settings.statuses.notices.removed',
} satisfies Notices;

const path = '/admin/boards/:slug/statuses';

export const statusRoutes: Route[] = [
  {
    path,
    show: showList,
    run: async visit => {
      await onBoard(visit, (admin, board) => addStatus(admin, board, readFields(visit)));
      return pathOnBoard(visit, 'statuses', { notice: 'added' });
    },
  },
  {
    path: `${path}/:key`,
    show: showStatus,
    run: async visit => {
      await onStatus(visit, (admin, status) => updateStatus(admin, status, readFields(visit)));
      return pathOnBoard(visit, 'statuses', { notice: 'saved' });
    },
  },
  { path: `${path}/:key/move`, run: moveStatus },
  {
    path: `${path}/:key/remove`,
    ask: askToRemove,
    run: async visit => {
      await onStatus(visit, removeStatus);
      return pathOnBoard(visit, 'statuses', { notice: 'removed' });
    },
    again: (visit, problem) => showList(visit, problem, false),
  },
];

function onStatus(visit: Visit, work: (admin: Administration, status: Status) => Promise<void>) {
  return onBoard(visit, async (admin, board) => work(admin, await requireStatus(admin, board, visit.word('key'))));
}

/** The form sends the new position and not a direction. A double click therefore moves the status only once. */
async function moveStatus(visit: Visit) {
  const position = Number.parseInt(visit.field('position'), 10) || 1;
  await onStatus(visit, (admin, status) => updateStatus(admin, status, { position }));
  const page = Math.ceil(position / perPage);
  const parameters = { notice: 'moved', ...(page > 1 ? { page: String(page) } : {}) };
  return `${pathOnBoard(visit, 'statuses', parameters)}#status-${visit.word('key')}`;
}

async function askToRemove(visit: Visit): Promise<Question> {
  const status = await onBoard(visit, (admin, board) => readStatusInUse(admin, board, visit.word('key')));
  const label = shownName(status.label);
  const list = pathOnBoard(visit, 'statuses');
  const count = status.idea_count + status.pending_count;
  if (count > 0) {
    const explanation = showCount('board_settings.statuses.in_use.explanation', count, { label });
    throw new Refusal(409, 'Ideas have this status', explanation, { label: 'All statuses', href: list });
  }
  return {
    heading: t('board_settings.statuses.remove.heading_html', { name: label }),
    explanation: `Clients that set the status ${status.key} get 422 invalid_status from then on.`,
    button: 'Remove the status',
    back: { label: 'Keep the status', href: list },
  };
}

function showList(visit: Visit, problem?: Problem, isOfForm = problem !== undefined) {
  return boardPage(visit, { tab: 'statuses', notices, problem }, async (admin, board) => ({
    statuses: await visit.numberedPage(
      `/admin/boards/${board.slug}/statuses`,
      { perPage, present: presentStatus },
      place => listStatusesInUse(admin, board, place),
    ),
    form: shownForm(isOfForm ? readForm(visit) : emptyForm),
    isOfForm,
  }));
}

function showStatus(visit: Visit, problem?: Problem) {
  const page = { tab: 'statuses', template: 'status', title: 'Status', problem } as const;
  return boardPage(visit, page, async (admin, board) => {
    const status = await readStatusInUse(admin, board, visit.word('key'));
    return {
      status: presentStatus(status),
      form: shownForm(problem ? readForm(visit) : formOf(status)),
    };
  });
}

function presentStatus(status: StatusInUse) {
  const { key, position, pending_count: pending } = status;
  return {
    key,
    /** The data of the template parts/status. */
    status: { label: shownName(status.label), category: status.category },
    flags: [
      ...(status.is_hidden ? ['Hidden'] : []),
      ...(status.allow_votes ? [] : ['No votes']),
      ...(status.allow_comments ? [] : ['No comments']),
    ],
    ideas: status.idea_count === 0 ? t('shell.counts.no_ideas') : showCount('shell.counts.ideas', status.idea_count),
    pending: pending > 0 ? showCount('board_settings.statuses.pending', pending) : undefined,
    before: position > 1 ? position - 1 : undefined,
    after: position < status.status_count ? position + 1 : undefined,
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
  const labels = Object.entries(categories).map(([value, { label }]) => [value, label] as const);
  return {
    ...form,
    categoryOptions: optionsOf(form.category ? labels : [['', 'Choose one'], ...labels], form.category),
    categories: Object.entries(categories).map(([value, words]) => ({ value, ...words })),
  };
}

const categories: Record<StatusCategory, { label: string; meaning: string }> = {
  inbox: { label: 'Inbox', meaning: 'No decision yet. New ideas start in its first status.' },
  planned: { label: 'Planned', meaning: 'We plan to do it or to look into it.' },
  active: { label: 'Active', meaning: 'Somebody works on it.' },
  completed: { label: 'Completed', meaning: 'It is done.' },
  declined: { label: 'Declined', meaning: 'We will not do it.' },
  archived: { label: 'Archived', meaning: 'It is no longer relevant.' },
};
