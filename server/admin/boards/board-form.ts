import type { Board } from '../../entities/board.ts';
import { fieldOf } from '../shell/form.ts';

/** What was entered in the form of a board, a new one or one that there is. */
export interface BoardForm {
  name: string;
  slug: string;
  description: string;
  preModeration: boolean;
  isPublic: boolean;
}

export const emptyBoardForm: BoardForm = {
  name: '',
  slug: '',
  description: '',
  preModeration: false,
  isPublic: false,
};

export function readBoardForm(body: unknown): BoardForm {
  return {
    name: fieldOf(body, 'name'),
    slug: fieldOf(body, 'slug').trim(),
    // Browsers send the ends of lines as mails have them.
    description: fieldOf(body, 'description').replaceAll('\r\n', '\n'),
    preModeration: fieldOf(body, 'pre_moderation') !== '',
    isPublic: fieldOf(body, 'is_public') !== '',
  };
}

export function formOfBoard({ name, slug, description, preModeration, isPublic }: Board): BoardForm {
  return { name, slug, description, preModeration, isPublic };
}
