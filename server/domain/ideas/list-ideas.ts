import { type IdeaStatus, type StatusCategory, statusOfCategory } from '../../../contract/status.ts';
import { plannedStatement, type Statement, statement } from '../../database/statement.ts';
import { isPublicReader, type ReadOperation } from '../operation.ts';
import { type Cursor, cutPage, type Page, type Place } from '../pagination.ts';
import { type IdeaView, ideaViewColumns, ideaViewJoins } from './read-idea.ts';

export interface IdeaFilter {
  status?: IdeaStatus | undefined;
  statusKey?: string | undefined;
  q?: string | undefined;
  sort: 'newest' | 'top';
  isPending: boolean;
}

/** Lists the published ideas of the reader's board, or its approval queue. */
export async function listIdeas(op: ReadOperation, filter: IdeaFilter, place: Place): Promise<Page<IdeaView>> {
  const isSearch = filter.q !== undefined;
  const list = listStatement(filter, place, isPublicReader(op.actor));
  const values: unknown[] = [
    op.actor.boardId,
    op.actor.voterId,
    filter.statusKey ?? null,
    filter.statusKey === undefined ? categoryOf(filter.status) : null,
    place.offset,
    // One more than the page holds tells whether another follows.
    place.perPage + 1,
  ];
  if (isSearch) values.push(filter.q);
  if (place.cursor) values.push(place.cursor.key, place.cursor.id);
  return cutPage(await op.query(list, values), place, idea => cursorOf(filter.sort, idea));
}

function categoryOf(status: IdeaStatus | undefined): StatusCategory | null {
  if (status === undefined) return null;
  const entries = Object.entries(statusOfCategory) as [StatusCategory, IdeaStatus][];
  return entries.find(([, value]) => value === status)?.[0] ?? null;
}

function cursorOf(sort: IdeaFilter['sort'], idea: IdeaView): Cursor {
  return { sort, key: sort === 'newest' ? idea.created_at : idea.score, id: idea.id };
}

const statements = new Map<string, Statement<IdeaView>>();

function listStatement({ sort, isPending, q }: IdeaFilter, { cursor, offset, perPage }: Place, isPublic: boolean) {
  const form: ListForm = {
    sort,
    isPending,
    isPublic,
    isSearch: q !== undefined,
    hasCursor: cursor !== undefined,
    rowsOfStatus: offset === 0 ? enoughRows.find(rows => rows > perPage) : undefined,
  };
  const name = nameOf(form);
  let list = statements.get(name);
  if (!list) {
    const text = listText(form);
    // A rare word is found through its index, a common one by walking the newest: the plan depends on the word.
    list = form.isSearch ? plannedStatement(text) : statement(name, text);
    statements.set(name, list);
  }
  return list;
}

/** The ways in which the text of the list's statement differs. */
interface ListForm {
  sort: IdeaFilter['sort'];
  isPending: boolean;
  /** Hidden statuses are left out even where they are asked for. */
  isPublic: boolean;
  isSearch: boolean;
  hasCursor: boolean;
  /** How many rows of each status suffice for the page; undefined for one that begins after an offset. */
  rowsOfStatus: number | undefined;
}

/**
 * For the default page and for the largest one, with the row that tells whether another page follows. These stand in
 * the text: PostgreSQL takes a limit that is a parameter for a tenth of the table, finds a plan for any value so dear
 * that it makes a new one for each call, and making it took three times as long as the list.
 */
const enoughRows = [21, 101] as const;

function nameOf({ sort, isPending, isPublic, isSearch, hasCursor, rowsOfStatus }: ListForm): string {
  const words = [
    sort,
    isPending && 'pending',
    isPublic && 'public',
    isSearch && 'search',
    hasCursor && 'after',
    rowsOfStatus ?? 'offset',
  ];
  return ['list_ideas', ...words.filter(word => word !== false)].join('_');
}

/**
 * The list takes the first rows of each status that it shows, each from the index in the order of the list, and
 * merges them: so it costs the same whichever statuses are shown, and the same at any depth with a cursor.
 */
function listText({ sort, isPending, isPublic, isSearch, hasCursor, rowsOfStatus }: ListForm): string {
  const key = sort === 'newest' ? 'created_at' : 'score';
  const keyType = sort === 'newest' ? 'timestamptz' : 'integer';
  const cursorAt = isSearch ? 8 : 7;
  // The index is asked for the long words alone, and what it finds is held against all of them: the operator @@ may
  // use an index, and its function never does.
  const search = isSearch
    ? `and i.title_words @@ index_words_query($7)
        and (index_words_query($7) = words_query($7) or ts_match_vq(i.title_words, words_query($7)))`
    : '';
  const after = hasCursor ? `and (i.${key}, i.id) < ($${cursorAt}::${keyType}, $${cursorAt + 1}::bigint)` : '';
  const state = isPending
    ? `i.moderation_state = 'pending'`
    : `i.moderation_state = 'published' and i.merged_into_id is null`;
  return `select ${ideaViewColumns}
  from (
    select of_status.id, of_status.key
    from statuses shown cross join lateral (
      select i.id, i.${key} as key
      from ideas i
      where i.status_id = shown.id and ${state} ${search} ${after}
      order by i.${key} desc, i.id desc
      limit ${rowsOfStatus ?? '$5::bigint + $6::bigint'}
    ) of_status
    where shown.board_id = $1
      and case
            when $3::text is not null then shown.key = $3
            when $4::text is not null then shown.category = $4
            else ${isPending ? 'true' : 'not shown.is_hidden'}
          end
      ${isPublic ? 'and not shown.is_hidden' : ''}
    order by of_status.key desc, of_status.id desc
    offset $5::bigint limit $6::bigint
  ) page
  join ideas i on i.id = page.id ${ideaViewJoins('$2')}
  order by page.key desc, page.id desc`;
}
