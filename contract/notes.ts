import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Author, people } from './idea.ts';
import { Deletion, editFields } from './ideas.ts';
import { Id, IdeaPath, NotePath } from './identifiers.ts';
import { maxNoteLength } from './limits.ts';
import { listOf, onePlace, pagination } from './pagination.ts';
import {
  BoardParameter,
  BoardQuery,
  ConditionalHeaders,
  c,
  IdempotencyHeaders,
  noBody,
  notModified,
  type RouteMetadata,
} from './routes.ts';
import { nonBlankText, Timestamp, userText } from './text.ts';

const written = {
  id: 700,
  idea_id: 42,
  body: 'Three of our largest customers asked for this. Estimate before the next planning.',
  author: people.ada,
  created_at: '2026-03-16T08:12:45.120Z',
  updated_at: '2026-03-16T08:12:45.120Z',
};

export const noteExamples = {
  written,
  edited: {
    ...written,
    body: 'Four of our largest customers asked for this. Estimate before the next planning.',
    updated_at: '2026-03-17T16:30:02.554Z',
  },
};

export const Note = z
  .object({
    id: Id,
    idea_id: Id.describe('The idea that the note belongs to.'),
    body: userText.describe('The note, in plain text.'),
    author: Author,
    created_at: Timestamp.describe('When the note was written.'),
    updated_at: Timestamp.describe('When the note was written or last edited. Each edit increases this time.'),
  })
  .meta({
    title: 'Note',
    description: 'A note about an idea, in plain text. Only moderators can read notes.',
    examples: [noteExamples.written],
  });

export const NoteList = listOf(Note, 'NoteList', 'A page of notes, oldest first.', {
  data: [noteExamples.written],
  page: 1,
  per_page: 20,
  has_more: false,
  next_cursor: null,
});

/** The text of a note. */
export const NoteText = nonBlankText(maxNoteLength);

const lengthOfNote = `1 to ${maxNoteLength.toLocaleString('en-US')} characters after trimming.`;

export const NoteInput = z.strictObject({ body: NoteText.describe(`Plain text, ${lengthOfNote}`) }).meta({
  title: 'NoteInput',
  description: 'The note to add.',
  examples: [{ body: noteExamples.written.body }],
});

/** The error keys of the three operations that change notes. */
const changing = [...raisedBy.moderating, 'not_found', 'board_frozen'] as const;

const metadata = { tag: 'Notes', auth: 'board', grant: 'moderate' } as const;

export const listNotes = c.query({
  method: 'GET',
  path: '/api/v1/ideas/:id/notes',
  summary: 'List the notes about an idea',
  description:
    'Returns the notes that moderators wrote about an idea, oldest first. If the idea is merged, its notes stay with it.',
  pathParams: z.object(IdeaPath),
  query: onePlace(z.strictObject({ ...BoardParameter, ...pagination })),
  headers: ConditionalHeaders,
  responses: {
    200: NoteList,
    ...notModified,
    ...raises(...raisedBy.onBoard, 'token_issuer_not_moderator', 'not_found'),
  },
  metadata: {
    ...metadata,
    bucket: 'apitoken:read',
    sdk: 'ideas.notes',
    tool: {
      name: 'list_notes',
      title: 'List the notes about an idea',
      description:
        'Lists the notes that moderators wrote for each other about an idea, oldest first, 20 per page. Members cannot see them: never repeat a note in a comment or a reply.',
      resultFields: ['data', 'id', 'body', 'author', 'name', 'created_at', 'updated_at', 'has_more', 'next_cursor'],
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const addNote = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas/:id/notes',
  summary: 'Add a note about an idea',
  description:
    'Adds a note by the user who issued the token. Only moderators can read it. A note emits no event and notifies nobody. Pending and merged ideas can have notes, too.',
  pathParams: z.object(IdeaPath),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: NoteInput,
  responses: { 201: Note, ...raises(...changing, ...raisedBy.idempotent) },
  metadata: {
    ...metadata,
    bucket: 'apitoken:write',
    sdk: 'ideas.addNote',
    tool: {
      name: 'add_note',
      title: 'Add a note about an idea',
      description:
        'Adds a note about an idea that only moderators can read, in the name of the user who issued the token. Use it for internal facts, such as customers, estimates or duplicates. To answer members, use comment_on_idea instead.',
      isDestructive: false,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

export const NoteEdit = z
  .strictObject({
    body: NoteText.describe(`The new text. ${lengthOfNote}`),
    if_updated_at: editFields.if_updated_at,
  })
  .meta({
    title: 'NoteEdit',
    description: 'The new text of a note.',
    examples: [{ body: noteExamples.edited.body, if_updated_at: noteExamples.written.updated_at }],
  });

export const editNote = c.mutation({
  method: 'PATCH',
  path: '/api/v1/ideas/:id/notes/:noteId',
  summary: 'Edit a note',
  description:
    'Replaces the text of a note. Moderators share the notes: each of them may edit every note at any time. The note keeps its author. If nothing would change, the edit succeeds. With `if_updated_at`, the edit is refused if the note has changed since this time.',
  pathParams: z.object(NotePath),
  query: BoardQuery,
  body: NoteEdit,
  responses: { 200: Note, ...raises(...changing, 'note_changed') },
  metadata: {
    ...metadata,
    bucket: 'apitoken:write',
    sdk: 'ideas.editNote',
    tool: {
      name: 'edit_note',
      title: 'Edit a note',
      description:
        'Replaces the text of a note about an idea. Read it with list_notes first, and pass its updated_at as if_updated_at. Ask the user before you change a note of somebody else.',
      isDestructive: true,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const deleteNote = c.mutation({
  method: 'DELETE',
  path: '/api/v1/ideas/:id/notes/:noteId',
  summary: 'Delete a note',
  description: 'Deletes a note. Each moderator may delete every note. Nobody can restore the note.',
  pathParams: z.object(NotePath),
  query: BoardQuery,
  body: noBody,
  responses: { 200: Deletion, ...raises(...changing) },
  metadata: {
    ...metadata,
    bucket: 'apitoken:write',
    sdk: 'ideas.deleteNote',
    tool: {
      name: 'delete_note',
      title: 'Delete a note',
      description:
        'Deletes a note about an idea for good. Read it with list_notes first, and ask the user before you delete a note of somebody else.',
      isDestructive: true,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

export const noteRoutes = { listNotes, addNote, editNote, deleteNote };
