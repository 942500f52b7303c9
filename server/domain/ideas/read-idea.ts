import type { StatusCategory } from '../../../contract/status.ts';
import { statement } from '../../database/statement.ts';
import type { ModerationState } from '../../entities/idea.ts';
import { isPublicReader, type ReadOperation, type WriteOperation } from '../operation.ts';

/** An idea as its readers see it: the row with its status, tags, author and the reader's own vote. */
export interface IdeaView {
  id: number;
  title: string;
  body: string;
  status_key: string;
  status_category: StatusCategory;
  status_label: string;
  moderation_state: Exclude<ModerationState, 'rejected'>;
  score: number;
  up_count: number;
  down_count: number;
  comment_count: number;
  my_vote: -1 | 0 | 1 | null;
  tags: { id: number; name: string; color: string }[];
  author_id: number;
  author_name: string;
  merged_into_id: number | null;
  created_at: string;
  updated_at: string;
}

/** The columns of an IdeaView over ideas i, statuses s, users u and votes v. */
export const ideaViewColumns = `
  i.id, i.title, i.body, s.key as status_key, s.category as status_category, s.label as status_label,
  i.moderation_state, i.score, i.up_count, i.down_count, i.comment_count, v.value as my_vote,
  coalesce((
    select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by lower(t.name), t.id)
    from idea_tags it join tags t on t.id = it.tag_id
    where it.idea_id = i.id
  ), '[]') as tags,
  i.author_id, u.name as author_name, i.merged_into_id, i.created_at, i.updated_at`;

/** Joins what ideaViewColumns reads to ideas i; voter is the parameter that holds the reader's voter. */
export function ideaViewJoins(voter: string): string {
  return `
  join statuses s on s.id = i.status_id
  join users u on u.id = i.author_id
  left join votes v on v.idea_id = i.id and v.voter_id = ${voter} and ${countsAsVote('v')}`;
}

/** A vote that was copied ahead of a merge counts from the moment of the merge: see copy_votes. */
export function countsAsVote(vote: string): string {
  return `(${vote}.carried_from_id is null or exists (
    select from ideas origin where origin.id = ${vote}.carried_from_id and origin.merged_into_id = ${vote}.idea_id
  ))`;
}

const selectIdea = statement<IdeaView>(
  'select_idea',
  `select ${ideaViewColumns}
  from ideas i ${ideaViewJoins('$3')}
  where i.id = $1 and i.board_id = $2 and (i.moderation_state = 'published' or ($4 and i.moderation_state = 'pending'))`,
);

const selectPublicIdea = statement<IdeaView>(
  'select_public_idea',
  `select ${ideaViewColumns}
  from ideas i ${ideaViewJoins('null')}
  where i.id = $1 and i.board_id = $2 and i.moderation_state = 'published' and not s.is_hidden`,
);

/**
 * Reads one idea of the reader's board; undefined where there is none, it is pending and the reader no moderator, or it
 * is hidden from the public.
 */
export async function readIdea(op: ReadOperation, ideaId: number): Promise<IdeaView | undefined> {
  const { boardId, voterId, isModerator } = op.actor;
  const [idea] = isPublicReader(op.actor)
    ? await op.query(selectPublicIdea, [ideaId, boardId])
    : await op.query(selectIdea, [ideaId, boardId, voterId, isModerator]);
  return idea;
}

const selectIdeas = statement<IdeaView>(
  'select_ideas',
  `select ${ideaViewColumns}
  from ideas i ${ideaViewJoins('$2')}
  where i.id = any($1)`,
);

/** Reads ideas, in the order given, whose locks the operation holds or which it has just made. */
export async function requireIdeas(op: WriteOperation, ideaIds: readonly number[]): Promise<IdeaView[]> {
  const rows = await op.query(selectIdeas, [ideaIds, op.actor.voterId]);
  return ideaIds.map(id => {
    const idea = rows.find(row => row.id === id);
    if (!idea) throw new Error(`Idea ${id} is gone in the middle of an operation on it`);
    return idea;
  });
}

export async function requireIdea(op: WriteOperation, ideaId: number): Promise<IdeaView> {
  const [idea] = await requireIdeas(op, [ideaId]);
  if (!idea) throw new Error('One idea was asked for');
  return idea;
}
