import type { FastifyRequest } from 'fastify';
import type { MemberFilter, MemberPlace } from '../../domain/members/list-members.ts';
import { roles } from '../../entities/membership.ts';
import { fieldOf } from '../shell/form.ts';
import { presentRole, roleOf } from './present-role.ts';

interface Choice {
  value: string;
  label: string;
  isChosen: boolean;
}

/** The form above the list, with what was chosen in it. */
export interface FilterForm {
  q: string;
  roles: Choice[];
  blocks: Choice[];
}

/** What the address of a list says of it. What makes no sense is as if it were not there. */
export interface GivenFilter {
  filter: MemberFilter;
  after: MemberPlace | undefined;
  form: FilterForm;
  /** As parameters, for the address of the next page. */
  parameters: Record<string, string>;
  isEmpty: boolean;
}

/** As long as a name may be, or most addresses. */
const maxBeginning = 100;

export function readFilter({ query }: FastifyRequest): GivenFilter {
  const q = fieldOf(query, 'q').trim().slice(0, maxBeginning);
  const role = roleOf(fieldOf(query, 'role'));
  const blocked = blocks.find(({ value }) => value !== '' && value === fieldOf(query, 'blocked'));
  const parameters = {
    ...(q === '' ? {} : { q }),
    ...(role === undefined ? {} : { role }),
    ...(blocked === undefined ? {} : { blocked: blocked.value }),
  };
  const choose = (choices: Omit<Choice, 'isChosen'>[], chosen: string) =>
    choices.map(choice => ({ ...choice, isChosen: choice.value === chosen }));
  return {
    filter: { beginning: q === '' ? undefined : q, role, isBlocked: blocked?.isBlocked },
    after: placeIn(fieldOf(query, 'after')),
    form: {
      q,
      roles: choose([{ value: '', label: 'Every role' }, ...roles.map(labelled)], role ?? ''),
      blocks: choose(blocks, blocked?.value ?? ''),
    },
    parameters,
    isEmpty: Object.keys(parameters).length === 0,
  };
}

const blocks: { value: string; label: string; isBlocked?: boolean }[] = [
  { value: '', label: 'Blocked or not' },
  { value: 'yes', label: 'Blocked', isBlocked: true },
  { value: 'no', label: 'Not blocked', isBlocked: false },
];

const labelled = (role: (typeof roles)[number]) => ({ value: role, label: presentRole(role).label });

/** `member.42`: after this one. */
function placeIn(text: string): MemberPlace | undefined {
  const [, word = '', id = ''] = /^([a-z]+)\.([1-9]\d{0,14})$/.exec(text) ?? [];
  const role = roleOf(word);
  return role && { role, userId: Number(id) };
}

export function placeAfter({ role, userId }: MemberPlace): string {
  return `${role}.${userId}`;
}
