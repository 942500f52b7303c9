import type { Administration } from '../../domain/administration.ts';
import {
  addTag,
  listTagsInUse,
  readTagInUse,
  removeTag,
  requireTagOfId,
  type TagListing,
  updateTag,
} from '../../domain/tags/board-tags.ts';
import { definePage } from '../../pages/shell/page.ts';
import type { Problem } from '../shell/form.ts';
import { showCount, shownName } from '../shell/show.ts';
import type { Question, Route, Visit } from '../shell/visit.ts';
import { boardPage, listOf, onBoard, pathOnBoard, placeIn } from './board-page.ts';

const listPage = definePage<object>('admin/boards/tags');
const tagPage = definePage<object>('admin/boards/tag');

const perPage = 50;

const notices = { added: 'The tag is added.', saved: 'The tag is saved.', removed: 'The tag is removed.' };

/** The color is visible in light and in dark mode. */
const emptyForm = { name: '', color: '#0f766e' };

const path = '/admin/boards/:slug/tags';

/** The tags of a board. */
export const tagRoutes: Route[] = [
  {
    path,
    show: showList,
    run: async visit => {
      await onBoard(visit, (admin, board) => addTag(admin, board, readForm(visit)));
      return pathOnBoard(visit, 'tags', { notice: 'added' });
    },
  },
  {
    path: `${path}/:id`,
    show: showTag,
    run: async visit => {
      await change(visit, (admin, tag) => updateTag(admin, tag, readForm(visit)));
      return pathOnBoard(visit, 'tags', { notice: 'saved' });
    },
  },
  {
    path: `${path}/:id/remove`,
    ask: askToRemove,
    run: async visit => {
      await change(visit, removeTag);
      return pathOnBoard(visit, 'tags', { notice: 'removed' });
    },
  },
];

function change(
  visit: Visit,
  operation: (admin: Administration, tag: Awaited<ReturnType<typeof requireTagOfId>>) => Promise<void>,
) {
  return onBoard(visit, async (admin, board) => operation(admin, await requireTagOfId(admin, board, visit.id())));
}

async function askToRemove(visit: Visit): Promise<Question> {
  const { listing } = await read(visit);
  const { tag, ideas } = presentTag(visit, listing);
  return {
    title: 'Remove a tag',
    verb: 'Remove',
    name: tag.name,
    explanation:
      listing.idea_count === 0
        ? 'No idea has it.'
        : `It is taken from ${ideas}, which cannot be undone. The ideas themselves stay.`,
    button: 'Remove the tag',
    isDangerous: true,
    back: { label: 'Keep it', href: pathOnBoard(visit, 'tags') },
  };
}

function read(visit: Visit) {
  return onBoard(visit, async (admin, board) => ({ board, listing: await readTagInUse(admin, board, visit.id()) }));
}

async function showList(visit: Visit, problem?: Problem) {
  const { board, tags } = await onBoard(visit, async (admin, board) => ({
    board,
    tags: await listTagsInUse(admin, board, placeIn(visit, perPage)),
  }));
  const shown = tags.map(tag => presentTag(visit, tag));
  const data = {
    tags: listOf(visit, shown, { perPage, next: 'More tags', path: page => pathOnBoard(visit, 'tags', page) }),
    form: problem ? readForm(visit) : emptyForm,
    addPath: pathOnBoard(visit, 'tags'),
  };
  return boardPage(visit, board, { template: listPage, tab: 'tags' }, data, { notices, problem });
}

async function showTag(visit: Visit, problem?: Problem) {
  const { board, listing } = await read(visit);
  const data = {
    tag: presentTag(visit, listing),
    form: problem ? readForm(visit) : listing,
    listPath: pathOnBoard(visit, 'tags'),
  };
  return boardPage(visit, board, { template: tagPage, tab: 'tags', title: 'Tag' }, data, { problem });
}

function readForm(visit: Visit): typeof emptyForm {
  return { name: visit.field('name'), color: visit.field('color').trim() };
}

function presentTag(visit: Visit, { id, name, color, idea_count: count }: TagListing) {
  return {
    /** As parts/tag shows it on the board. */
    tag: { name: shownName(name), color },
    ideas: count === 0 ? 'no ideas' : showCount(count, 'idea'),
    editPath: pathOnBoard(visit, `tags/${id}`),
    removePath: pathOnBoard(visit, `tags/${id}/remove`),
  };
}
