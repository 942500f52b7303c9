import { type NoteView, noteSort, readNotes } from '../../domain/notes/notes.ts';
import type { ReadOperation } from '../../domain/operation.ts';
import { newFormId } from '../../pages/shell/form.ts';
import { shownName, showTime } from '../../pages/shell/show.ts';
import type { Visit } from '../../pages/shell/visit.ts';
import { linkedText } from '../../text/linked-text.ts';
import { ideaPath } from './way-back.ts';

export const notesPerPage = 20;

/**
 * Returns one page of the notes about an idea, with the form for a new note. A refused form keeps its text. The caller
 * checks that the moderator may see the idea.
 */
export async function presentNotes(visit: Visit, op: ReadOperation, ideaId: number) {
  const notes = await readNotes(op, ideaId, visit.place(noteSort, notesPerPage, 'notes'));
  const isSent = visit.request.routeOptions.url?.endsWith('/notes') === true;
  return {
    rows: notes.rows.map(note => presentNote(visit, note)),
    ...visit.pageLinks(ideaPath(ideaId), 'notes', notes.nextCursor, { section: '#notes' }),
    action: visit.path(`${ideaPath(ideaId)}/notes`),
    formId: newFormId(),
    isRefused: isSent,
    body: isSent ? visit.field('body') : '',
  };
}

function presentNote(visit: Visit, note: NoteView) {
  const path = `${ideaPath(note.idea_id)}/notes/${note.id}`;
  return {
    id: note.id,
    author: shownName(note.author_name),
    time: showTime(new Date(note.created_at)),
    isEdited: note.updated_at !== note.created_at,
    body: linkedText(note.body),
    editPath: visit.path(`${path}/edit`),
    deletePath: visit.path(`${path}/delete`),
  };
}
