import { NoteInput } from '../../../contract/notes.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { readIdea } from '../../domain/ideas/read-idea.ts';
import { addNote, deleteNote, editNote, type NoteView, presentNote, requireNote } from '../../domain/notes/notes.ts';
import { type PersonOperation, problemOfAction } from '../../pages/shell/act.ts';
import { FormProblem, type Problem } from '../../pages/shell/form.ts';
import { shownName } from '../../pages/shell/show.ts';
import type { Question, Route, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import { actOnIdea, changeIdea } from './act-on-board.ts';
import { showIdea } from './idea-page.ts';
import { ideaPath, type Notice } from './way-back.ts';

/** The forms that add, edit and delete the notes about an idea. The page of the idea shows the notes. */
export const noteRoutes: Route[] = [
  {
    path: '/admin/ideas/:id/notes',
    run: async visit => {
      const body = readNote(visit);
      const { id } = await change(visit, (op, ideaId) => addNote(op, ideaId, body));
      return wayToNote(visit, id, 'note_added');
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
      await change(visit, (op, ideaId) => editNote(op, { ideaId, noteId }, changes));
      return wayToNote(visit, noteId, 'note_edited');
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

function wayToNote(visit: Visit, noteId: number, notice: Notice): string {
  return `${visit.path(ideaPath(visit.id()), { notice })}#note-${noteId}`;
}

function readNoteOf(visit: Visit): Promise<NoteView> {
  const place = { ideaId: visit.id(), noteId: visit.id('note') };
  return actOnIdea(visit, place.ideaId, async op => {
    if (!(await readIdea(op, place.ideaId))) throw new DomainError('not_found');
    return requireNote(op, place);
  });
}

/** Shows the form for editing a note. If the server refused the new text, the form still shows this text. */
async function showEdit(visit: Visit, problem?: Problem) {
  const note = await readNoteOf(visit);
  const data = {
    action: visit.request.url,
    body: visit.isSent ? visit.field('body') : note.body,
    // After a refusal because of somebody else's edit, the person can compare both texts and save again.
    updatedAt: presentNote(note).updated_at,
    back: `${visit.path(ideaPath(note.idea_id))}#note-${note.id}`,
  };
  return visit.page('moderation/edit-note', t('moderation.notes.edit'), data, { problem });
}

async function askToDelete(visit: Visit): Promise<Question> {
  const note = await readNoteOf(visit);
  return {
    heading: t('moderation.notes.delete_heading_html', { author: shownName(note.author_name) }),
    explanation: t('moderation.notes.delete_explanation', { note: shortLine(note.body, 300, '') }),
    button: t('moderation.notes.delete'),
    back: { label: t('shell.labels.cancel'), href: `${visit.path(ideaPath(note.idea_id))}#note-${note.id}` },
  };
}
