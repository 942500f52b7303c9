import type { IdeaSort } from '../../../contract/idea.ts';
import { type IdeaStatus, statusCategories, statusOfCategory } from '../../../contract/status.ts';
import type { BoardView } from '../boards/read-board.ts';
import { isPublicReader, type ReadOperation } from '../operation.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';
import { selectIndexWords } from './index-words.ts';
import {
  enoughRows,
  type ListArguments,
  type ListedIdea,
  type ListForm,
  listQueryOf,
  type RankedIdea,
} from './list-queries.ts';
import { readFarPage, searchIdeas } from './walk-ideas.ts';

export interface IdeaFilter {
  status?: IdeaStatus | undefined;
  statusKey?: string | undefined;
  tagId?: number | undefined;
  authorId?: number | undefined;
  q?: string | undefined;
  createdAfter?: Date | undefined;
  createdBefore?: Date | undefined;
  /** Keeps only ideas that changed at this time or later. */
  updatedSince?: Date | undefined;
  sort: IdeaSort;
  isPending: boolean;
  /** The maximum number of characters of each idea's body. Longer bodies are cut off. */
  maxBodyLength?: number | undefined;
  /** The tags of the board in their order, if the caller has read the board. The list is then faster. */
  tagsOfBoard?: BoardView['tags'] | undefined;
}

export async function listIdeas(op: ReadOperation, filter: IdeaFilter, place: Place): Promise<Page<ListedIdea>> {
  const { accountId, boardId, voterId } = op.actor;
  const { status, sort, isPending, statusKey, tagId, authorId, q = '', maxBodyLength, tagsOfBoard } = filter;
  const { createdAfter, createdBefore, updatedSince } = filter;
  const category = statusCategories.find(one => statusOfCategory[one] === status);
  const hasIdeaFilter =
    q !== '' || [authorId, createdAfter, createdBefore, updatedSince].some(one => one !== undefined);
  const values: ListArguments = {
    accountId,
    boardId,
    voterId,
    statusKey: statusKey ?? null,
    category: statusKey === undefined ? (category ?? null) : null,
    statusIds: [],
    tagId: tagId ?? 0,
    offset: place.offset,
    limit: place.perPage + 1,
    q,
    indexWords: null,
    authorId: authorId ?? null,
    createdAfter: createdAfter ?? null,
    createdBefore: createdBefore ?? null,
    updatedSince: updatedSince ?? null,
    maxBodyLength: maxBodyLength ?? null,
    hasTagsOfBoard: tagsOfBoard !== undefined,
    cursorKey: place.cursor?.key ?? '',
    cursorId: place.cursor?.id ?? 0,
  };
  const form = {
    sort,
    isPending,
    isPublic: isPublicReader(op.actor),
    isFiltered: hasIdeaFilter,
    hasCursor: place.cursor !== undefined,
  };
  const isSearch = q !== '' || values.tagId !== 0;
  const read = isSearch && !isPending ? searchIdeas : readList;
  const rows = await read(op, form, values);
  const page = cutPage(rows, place, ({ key, id }) => ({ sort, key, id }));
  return { ...page, rows: page.rows.map(row => withTags(row, tagsOfBoard)) };
}

function withTags({ tags, tag_ids, ...idea }: RankedIdea, tagsOfBoard: BoardView['tags'] = []): ListedIdea {
  return { ...idea, tags: tags ?? tagsOfBoard.filter(({ id }) => tag_ids?.includes(id)) };
}

async function readList(op: ReadOperation, form: Omit<ListForm, 'rowsOfStatus' | 'index'>, values: ListArguments) {
  const far = await readFarPage(op, form, values);
  if (far) return far;
  const index = values.tagId === 0 ? null : 'tag';
  const enough = enoughRows.find(rows => rows >= values.offset + values.limit) ?? null;
  const rowsOfStatus = index === null ? enough : null;
  const indexWords = (await selectIndexWords(op, values.q))?.words ?? null;
  return op.query(listQueryOf({ ...form, rowsOfStatus, index }), { ...values, indexWords });
}
