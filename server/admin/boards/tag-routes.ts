import {
  addTag,
  listTagsInUse,
  readTagInUse,
  removeTag,
  requireTagOfId,
  type TagListing,
  updateTag,
} from '../../domain/tags/board-tags.ts';
import type { Problem } from '../../pages/shell/form.ts';
import { showCount, shownName } from '../../pages/shell/show.ts';
import type { Question, Route, Visit } from '../../pages/shell/visit.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import { boardPage, onBoard, pathOnBoard } from './board-page.ts';

const perPage = 50;

const notices = textKeysIn('board_settings.tags.notices');

/** The default color of a new tag. It is visible in light and in dark mode. */
const emptyForm = { name: '', color: '#0f766e' };

const path = '/admin/boards/:slug/tags';

export const tagRoutes: Route[] = [
  { path, show: showList, run: add },
  { path: `${path}/:id`, show: showTag, run: save },
  { path: `${path}/:id/remove`, ask: askToRemove, run: remove },
];

async function add(visit: Visit) {
  await onBoard(visit, (admin, board) => addTag(admin, board, readForm(visit)));
  return pathOnBoard(visit, 'tags', { notice: 'added' });
}

async function save(visit: Visit) {
  await onBoard(visit, async (admin, board) =>
    updateTag(admin, await requireTagOfId(admin, board, visit.id()), readForm(visit)),
  );
  return pathOnBoard(visit, 'tags', { notice: 'saved' });
}

async function remove(visit: Visit) {
  await onBoard(visit, async (admin, board) => removeTag(admin, await requireTagOfId(admin, board, visit.id())));
  return pathOnBoard(visit, 'tags', { notice: 'removed' });
}

async function askToRemove(visit: Visit): Promise<Question> {
  const { name, idea_count: count } = await onBoard(visit, (admin, board) => readTagInUse(admin, board, visit.id()));
  return {
    heading: t('shell.questions.remove_html', { name: shownName(name) }),
    explanation:
      count === 0 ? t('board_settings.tags.remove.unused') : showCount('board_settings.tags.remove.explanation', count),
    button: t('board_settings.tags.remove.button'),
    back: { label: t('board_settings.tags.remove.keep'), href: pathOnBoard(visit, 'tags') },
  };
}

function showList(visit: Visit, problem?: Problem) {
  return boardPage(visit, { tab: 'tags', notices, problem }, async (admin, board) => ({
    tags: await visit.numberedPage(`/admin/boards/${board.slug}/tags`, { perPage, present: presentTag }, place =>
      listTagsInUse(admin, board, place),
    ),
    form: problem ? readForm(visit) : emptyForm,
  }));
}

function showTag(visit: Visit, problem?: Problem) {
  return boardPage(
    visit,
    { tab: 'tags', template: 'tag', title: t('board_settings.tags.title'), problem },
    async (admin, board) => {
      const listing = await readTagInUse(admin, board, visit.id());
      return {
        tag: presentTag(listing),
        form: problem ? readForm(visit) : listing,
      };
    },
  );
}

function readForm(visit: Visit): typeof emptyForm {
  return { name: visit.field('name'), color: visit.field('color').trim() };
}

function presentTag({ id, name, color, idea_count: count }: TagListing) {
  return {
    id,
    /** The data for the template `parts/tag`. */
    tag: { name: shownName(name), color },
    ideas: count === 0 ? t('shell.counts.no_ideas') : showCount('shell.counts.ideas', count),
  };
}
