import { type Kysely, sql } from 'kysely';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { checkNotFrozen } from '../boards/read-board.ts';
import { DomainError } from '../domain-error.ts';
import { checkUnchanged, deletedText } from '../ideas/change-idea.ts';
import { checkMayDeleteText, lockIdea, lockIdeaEvenIfFrozen } from '../ideas/lock-ideas.ts';
import { readIdea } from '../ideas/read-idea.ts';
import type { AuditedOperation, ReadOperation, WriteOperation } from '../operation.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';
import { replaceInAnswers } from '../replace-in-answers.ts';
import { presentTime } from '../time.ts';

/*
 * Notes about ideas, for moderators. The callers of these functions let only moderators in. Notes emit no events, so
 * webhooks, chat channels, extensions and followers never receive them.
 */

export type NoteView = RowOf<typeof selectNotes>;

/** The name that cursors contain for the sort order of notes. Later notes have larger ids. */
export const noteSort = 'oldest';

const columns = ['n.id', 'n.idea_id', 'n.body', 'n.author_id', 'u.name as author_name', 'n.created_at'] as const;

function noteViews(db: Kysely<Tables>, $: Arguments<{ accountId: number; ideaId: number }>) {
  return db
    .selectFrom('idea_notes as n')
    .innerJoin('users as u', 'u.id', 'n.author_id')
    .select(columns)
    .select(n => n.fn.coalesce('n.edited_at', 'n.created_at').as('updated_at'))
    .where(n => n.and({ 'n.account_id': $.accountId, 'n.idea_id': $.ideaId }));
}

const selectNotes = query(
  'select_notes',
  (db, $: Arguments<{ accountId: number; ideaId: number; afterId: number; offset: number; limit: number }>) =>
    noteViews(db, $).where('n.id', '>', $.afterId).orderBy('n.id').offset($.offset).limit($.limit),
);

/** Lists the notes about an idea, oldest first. Throws not_found if the moderator cannot see the idea. */
export async function listNotes(op: ReadOperation, ideaId: number, place: Place): Promise<Page<NoteView>> {
  if (!(await readIdea(op, ideaId))) throw new DomainError('not_found');
  return readNotes(op, ideaId, place);
}

/** Lists the notes about an idea, oldest first. The caller checks that the moderator may see the idea. */
export async function readNotes(op: ReadOperation, ideaId: number, place: Place): Promise<Page<NoteView>> {
  const { accountId } = op.actor;
  const { perPage, offset, cursor } = place;
  const rows = await op.query(selectNotes, { accountId, ideaId, afterId: cursor?.id ?? 0, offset, limit: perPage + 1 });
  return cutPage(rows, place, note => ({ sort: noteSort, key: 0, id: note.id }));
}

const insertNote = query(
  'insert_note',
  (db, $: Arguments<{ accountId: number; ideaId: number; authorId: number; body: string; now: Date }>) =>
    db
      .with('created', cte =>
        cte
          .insertInto('idea_notes')
          .values({
            account_id: $.accountId,
            idea_id: $.ideaId,
            author_id: $.authorId,
            body: $.body,
            created_at: $.now,
          })
          .returning(['id', 'idea_id', 'body', 'author_id', 'created_at']),
      )
      .selectFrom(['created as n', 'users as u'])
      .select([...columns, 'n.created_at as updated_at'])
      .whereRef('u.id', '=', 'n.author_id'),
);

/** Adds a note by the acting moderator. The idea may be pending or merged. Throws not_found or board_frozen. */
export async function addNote(op: WriteOperation, ideaId: number, body: string): Promise<NoteView> {
  await lockIdea(op, ideaId);
  const { accountId, userId: authorId } = op.actor;
  const [note] = await op.query(insertNote, { accountId, ideaId, authorId, body, now: op.now });
  if (!note) throw new Error('An insert returned no row');
  return note;
}

interface NoteOfIdea {
  ideaId: number;
  noteId: number;
}

const selectNote = query('select_note_to_change', (db, $: Arguments<NoteOfIdea & { accountId: number }>) =>
  noteViews(db, $).where('n.id', '=', $.noteId),
);

/** Reads a note. Throws not_found if the idea has no such note. The caller checks that the idea is visible. */
export async function requireNote(op: ReadOperation, { ideaId, noteId }: NoteOfIdea): Promise<NoteView> {
  const [note] = await op.query(selectNote, { accountId: op.actor.accountId, ideaId, noteId });
  if (!note) throw new DomainError('not_found');
  return note;
}

/** Each edit increases the time of the last change, even if two edits happen in the same millisecond. */
const updateNote = query(
  'update_note',
  (db, $: Arguments<{ accountId: number; noteId: number; body: string; now: Date }>) =>
    db
      .updateTable('idea_notes')
      .set({
        body: $.body,
        edited_at: sql<string>`greatest(${$.now}, coalesce(edited_at, created_at) + interval '1 millisecond')`,
      })
      .where(n => n.and({ account_id: $.accountId, id: $.noteId }))
      .returning(n => n.ref('edited_at').$notNull().as('updated_at')),
);

/**
 * Edits a note of any author. An edit without a change succeeds, so that a client may repeat it. Throws not_found,
 * board_frozen or note_changed. The function locks the idea first, so that concurrent changes of a note run one after
 * the other.
 */
export async function editNote(
  op: WriteOperation,
  { ideaId, noteId }: NoteOfIdea,
  { body, ifUpdatedAt }: { body: string; ifUpdatedAt?: string | undefined },
): Promise<NoteView> {
  const idea = await lockIdeaEvenIfFrozen(op, ideaId);
  const note = await requireNote(op, { ideaId, noteId });
  checkNotFrozen(idea);
  if (body === note.body) return note;
  checkUnchanged(note.updated_at, ifUpdatedAt, 'note_changed');
  const [updated] = await op.query(updateNote, { accountId: op.actor.accountId, noteId, body, now: op.now });
  if (!updated) throw new Error('An update returned no row');
  await replaceInAnswers(op, { kind: 'note', id: noteId, ideaId, authorId: note.author_id, text: body });
  return { ...note, ...updated, body };
}

const removeNote = query('remove_note', (db, $: Arguments<NoteOfIdea & { accountId: number }>) =>
  db.deleteFrom('idea_notes').where(n => n.and({ account_id: $.accountId, idea_id: $.ideaId, id: $.noteId })),
);

/**
 * Deletes a note of any author. On a frozen board, and about a rejected idea, people can delete notes but tokens cannot.
 * No event reports the deletion, so the audit log also records the deletions by tokens.
 */
export async function deleteNote(op: AuditedOperation, { ideaId, noteId }: NoteOfIdea): Promise<void> {
  const { accountId } = op.actor;
  const idea = await lockIdeaEvenIfFrozen(op, ideaId, { evenIfRejected: true });
  const note = await requireNote(op, { ideaId, noteId });
  checkMayDeleteText(op, idea);
  await op.query(removeNote, { accountId, ideaId, noteId });
  await replaceInAnswers(op, { kind: 'note', id: noteId, ideaId, authorId: note.author_id, text: deletedText });
  op.audit.record('note.deleted', {
    account_id: accountId,
    idea_id: ideaId,
    note_id: noteId,
    user_id: note.author_id,
  });
}

export function presentNote({ id, idea_id, body, author_id, author_name, created_at, updated_at }: NoteView) {
  return {
    id,
    idea_id,
    body,
    author: { id: author_id, name: author_name },
    created_at: presentTime(created_at),
    updated_at: presentTime(updated_at),
  };
}
