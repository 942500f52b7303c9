import { defaultPerPage } from '../../contract/pagination.ts';
import { turnOnIdea } from '../domain/ideas/lock-ideas.ts';
import { addNote, deleteNote, editNote, listNotes, noteSort, presentNote } from '../domain/notes/notes.ts';
import { actingIn } from '../domain/operation.ts';
import { placeOf, presentPage } from '../domain/pagination.ts';
import type { OperationRunner } from '../http/operation-runner.ts';
import type { Endpoints } from '../http/ts-rest.ts';

type NoteEndpoints = Pick<Endpoints, 'listNotes' | 'addNote' | 'editNote' | 'deleteNote'>;

export function noteEndpoints(runner: OperationRunner): NoteEndpoints {
  return {
    listNotes: async ({ request, params, query }) => {
      const place = placeOf(query, noteSort, defaultPerPage);
      const page = await runner.readList(request, op => listNotes(op, params.id, place));
      return { status: 200, body: presentPage(page, presentNote) };
    },

    addNote: ({ request, reply, params, query, body }) =>
      runner.write({ request, reply, params, query, body, turns: () => [turnOnIdea(params.id)] }, async op => ({
        status: 201,
        body: presentNote(await addNote(op, params.id, body.body)),
      })),

    editNote: ({ request, reply, params, query, body }) =>
      runner.write({ request, reply, params, query, body, turns: () => [turnOnIdea(params.id)] }, async op => {
        const note = await editNote(op, placeIn(params), { body: body.body, ifUpdatedAt: body.if_updated_at });
        return { status: 200, body: presentNote(note) };
      }),

    deleteNote: ({ request, reply, params, query }) =>
      runner.administer(
        { request, reply, params, query, turns: () => [turnOnIdea(params.id)] },
        async (admin, actor) => {
          await deleteNote(actingIn(admin, actor), placeIn(params));
          return { status: 200, body: { id: params.noteId, deleted: true } };
        },
      ),
  };
}

function placeIn({ id: ideaId, noteId }: { id: number; noteId: number }) {
  return { ideaId, noteId };
}
