import { statusCategories } from '../../../contract/status.ts';
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
import type { Question, Route, Visit } from '../../pages/shell/visit.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import { boardPage, onBoard, pathOnBoard } from './board-page.ts';

const perPage = 20;

const notices = textKeysIn('board_settings.statuses.notices');

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

/**
 * The form sends the new position of the status instead of a direction. So a double click moves the status only once.
 */
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
    throw new Refusal(409, t('board_settings.statuses.in_use.title'), explanation, {
      label: t('board_settings.statuses.in_use.all'),
      href: list,
    });
  }
  return {
    heading: t('shell.questions.remove_html', { name: label }),
    explanation: t('board_settings.statuses.remove.explanation', { key: status.key }),
    button: t('board_settings.statuses.remove.button'),
    back: { label: t('board_settings.statuses.remove.keep'), href: list },
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
  const title = t('shell.labels.status');
  return boardPage(visit, { tab: 'statuses', template: 'status', title, problem }, async (admin, board) => {
    const status = await readStatusInUse(admin, board, visit.word('key'));
    return {
      status: presentStatus(status),
      form: shownForm(problem ? readForm(visit) : formOf(status)),
    };
  });
}

function presentStatus(status: StatusInUse) {
  const { key, position, idea_count: count, pending_count: pendingCount } = status;
  const ideas = count === 0 ? t('shell.counts.no_ideas') : showCount('shell.counts.ideas', count);
  const pending = showCount('board_settings.statuses.pending', pendingCount);
  return {
    key,
    /** The data for the template `parts/status`. */
    status: { label: shownName(status.label), category: status.category },
    flags: [
      ...(status.is_hidden ? [t('board_settings.statuses.flags.hidden')] : []),
      ...(status.allow_votes ? [] : [t('board_settings.statuses.flags.no_votes')]),
      ...(status.allow_comments ? [] : [t('board_settings.statuses.flags.no_comments')]),
    ],
    ideas: pendingCount === 0 ? ideas : t('board_settings.statuses.ideas_and_pending', { ideas, pending }),
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
  if (!category) throw new AdministrationError('invalid', t('board_settings.statuses.fields.unknown_category'));
  return { ...form, category };
}

function formOf({ key, label, category, is_hidden, allow_votes, allow_comments }: StatusInUse): typeof emptyForm {
  return { key, label, category, isHidden: is_hidden, allowVotes: allow_votes, allowComments: allow_comments };
}

function shownForm(form: typeof emptyForm) {
  const categories = statusCategories.map(value => ({
    value,
    label: t(`board_settings.statuses.categories.${value}.label`),
    meaning: t(`board_settings.statuses.categories.${value}.meaning`),
  }));
  const labels = categories.map(({ value, label }) => [value, label] as const);
  const noCategory = ['', t('board_settings.statuses.fields.no_category')] as const;
  return {
    ...form,
    categoryOptions: optionsOf(form.category ? labels : [noCategory, ...labels], form.category),
    categories,
  };
}
