import { type StatusCategory, statusCategories } from '../../../contract/status.ts';
import { AdministrationError } from '../../domain/administration.ts';
import type { StatusFields } from '../../domain/statuses/edit-statuses.ts';
import type { StatusListing } from '../../domain/statuses/list-statuses.ts';
import { fieldOf } from '../shell/form.ts';

/** What was entered in the form of a status, a new one or one that there is. */
export interface StatusForm {
  key: string;
  label: string;
  category: string;
  isHidden: boolean;
  allowVotes: boolean;
  allowComments: boolean;
}

export const emptyStatusForm: StatusForm = {
  key: '',
  label: '',
  category: '',
  isHidden: false,
  allowVotes: true,
  allowComments: true,
};

export function readStatusForm(body: unknown): StatusForm {
  return {
    key: fieldOf(body, 'key').trim(),
    label: fieldOf(body, 'label'),
    category: fieldOf(body, 'category'),
    isHidden: fieldOf(body, 'is_hidden') !== '',
    allowVotes: fieldOf(body, 'allow_votes') !== '',
    allowComments: fieldOf(body, 'allow_comments') !== '',
  };
}

export function formOfStatus(status: StatusListing): StatusForm {
  const { key, label, category, is_hidden: isHidden, allow_votes: allowVotes, allow_comments: allowComments } = status;
  return { key, label, category, isHidden, allowVotes, allowComments };
}

/** The fields of the status that the form asks for. */
export function statusFieldsOf(form: StatusForm): StatusFields {
  const category = statusCategories.find(one => one === form.category);
  if (!category) throw new AdministrationError('invalid', 'Choose a category');
  return { ...form, category };
}

/** The form as it is shown, with what was entered in it. */
export interface ShownStatusForm extends StatusForm {
  /** Each is shown as a chip, too, as the board shows it. */
  categories: { value: StatusCategory; label: string; meaning: string; isChosen: boolean }[];
}

export function shownForm(form: StatusForm): ShownStatusForm {
  const categories = statusCategories.map(value => ({ value, ...words[value], isChosen: value === form.category }));
  return { ...form, categories };
}

const words: Record<StatusCategory, { label: string; meaning: string }> = {
  inbox: { label: 'Inbox', meaning: 'Nobody has decided yet. New ideas start in the first status of it.' },
  planned: { label: 'Planned', meaning: 'It will be done, or looked into.' },
  active: { label: 'Active', meaning: 'Somebody works on it.' },
  completed: { label: 'Completed', meaning: 'It is done.' },
  declined: { label: 'Declined', meaning: 'It will not be done.' },
  archived: { label: 'Archived', meaning: 'It is put away.' },
};
