import { NoteInput } from '../../../contract/notes.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { readIdea } from '../../domain/ideas/read-idea.ts';
import { readRejectedIdea } from '../../domain/moderation/list-submissions.ts';
import {
  addNote,
  deleteNote,
  editNote,
  type NoteView,
  noteSort,
  readNotes,
  requireNote,
} from '../../domain/notes/notes.ts';
import { encodeCursor, placeOf } from '../../domain/pagination.ts';
import { editedVersion, isConflict, type PersonOperation, problemOfAction } from '../../pages/shell/act.ts';
import { FormProblem, type Problem, requireFirst } from '../../pages/shell/form.ts';
import { shownName } from '../../pages/shell/show.ts';
import type { Question, Route, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { linkedText } from '../../text/linked-text.ts';
import { shortLine } from '../../text/plain-text.ts';
import { actOnIdea, changeIdea } from './act-on-board.ts';
import { showIdea } from './idea-page.ts';
import { notesPerPage } from './present-notes.ts';
import { ideaPath, type Notice } from './way-back.ts';

/** The forms that add, edit and delete the notes about an idea. The page of the idea shows the notes. */
export const noteRoutes: Route[] = [
  {
    path: '/admin/ideas/:id/notes',
    run: async visit => {
      const body = readNote(visit);
      return change(visit, async (op, ideaId) => {
        await requireFirst(op, visit.request.body);
        const { id } = await addNote(op, ideaId, body);
        return wayToNote(visit, op, id, 'note_added');
      });
    },
    again: showIdea,
    problemOf: problemOfAction,
  },
  {
    path: '/admin/ideas/:id/notes/:note/edit',
    show: showEdit,
    run: async visit => {
      const noteId = visit.id('note');
      const changes = { body: readNote(visit), ifUpdatedAt: visit.field('if_updated_at') || undefined };
      return change(visit, async (op, ideaId) => {
        await editNote(op, { ideaId, noteId }, changes);
        return wayToNote(visit, op, noteId, 'note_edited');
      });
    },
    problemOf: problemOfAction,
  },
  {
    path: '/admin/ideas/:id/notes/:note/delete',
    ask: askToDelete,
    run: async visit => {
      const noteId = visit.id('note');
      await change(visit, (op, ideaId) => deleteNote(op, { ideaId, noteId }));
      return `${visit.path(ideaPath(visit.id()), { notice: 'note_deleted' satisfies Notice })}#notes`;
    },
    problemOf: problemOfAction,
  },
];

function readNote(visit: Visit): string {
  const input = NoteInput.safeParse({ body: visit.field('body') });
  if (!input.success) throw new FormProblem(422, t('moderation.notes.refused'));
  return input.data.body;
}

function change<T>(visit: Visit, work: (op: PersonOperation, ideaId: number) => Promise<T>): Promise<T> {
  const ideaId = visit.id();
  return changeIdea(visit, ideaId, op => work(op, ideaId));
}

/** Returns the path of the idea with the page of notes that has the note. */
async function wayToNote(visit: Visit, op: PersonOperation, noteId: number, notice: Notice): Promise<string> {
  const ideaId = visit.id();
  const first = await readNotes(op, ideaId, placeOf({}, noteSort, notesPerPage));
  const isOnFirst = first.rows.some(({ id }) => id === noteId);
  const page = isOnFirst ? {} : { notes: encodeCursor({ sort: noteSort, key: 0, id: noteId - 1 }) };
  return `${visit.path(ideaPath(ideaId), { ...page, notice })}#note-${noteId}`;
}

/** Reads the note of the form's path. Only the form that deletes a note accepts a note about a rejected idea. */
function readNoteOf(visit: Visit, { evenIfRejected = false } = {}): Promise<NoteView> {
  const place = { ideaId: visit.id(), noteId: visit.id('note') };
  return actOnIdea(visit, place.ideaId, async op => {
    const isRejected = async () =>
      evenIfRejected && (await readRejectedIdea(op, visit.account.id, place.ideaId)) !== undefined;
    if (!(await readIdea(op, place.ideaId)) && !(await isRejected())) throw new DomainError('not_found');
    return requireNote(op, place);
  });
}

/**
 * Shows the form for editing a note. If the server refused the new text, the form still shows this text. If somebody
 * else has changed the note meanwhile, the page also shows the other text, and the form can then replace it.
 */
async function showEdit(visit: Visit, problem?: Problem) {
  const note = await readNoteOf(visit);
  const data = {
    action: visit.request.url,
    body: visit.isSent ? visit.field('body') : note.body,
    isRefused: problem !== undefined,
    current: isConflict(problem) && { label: t('moderation.notes.current'), text: linkedText(note.body) },
    updatedAt: editedVersion(visit, note.updated_at, problem),
    back: `${visit.path(ideaPath(note.idea_id))}#note-${note.id}`,
  };
  return visit.page('moderation/edit-note', t('moderation.notes.edit'), data, { problem });
}

async function askToDelete(visit: Visit): Promise<Question> {
  const note = await readNoteOf(visit, { evenIfRejected: true });
  return {
    heading: t('moderation.notes.delete_heading_html', { author: shownName(note.author_name) }),
    explanation: t('moderation.notes.delete_explanation', { note: shortLine(note.body, 300, '') }),
    button: t('moderation.notes.delete'),
    back: { label: t('shell.labels.cancel'), href: `${visit.path(ideaPath(note.idea_id))}#note-${note.id}` },
  };
}
