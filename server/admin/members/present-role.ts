import { mayManage } from '../../domain/members/may-manage.ts';
import { type Role, roles } from '../../entities/membership.ts';

/** A role as the pages show it. */
export interface ShownRole {
  label: string;
  chip: string;
}

const shown: Record<Role, ShownRole> = {
  owner: { label: 'Owner', chip: 'chip-planned' },
  admin: { label: 'Admin', chip: 'chip-active' },
  moderator: { label: 'Moderator', chip: 'chip-completed' },
  member: { label: 'Member', chip: 'chip-outline' },
};

export function presentRole(role: Role): ShownRole {
  return shown[role];
}

export interface RoleChoice {
  value: Role;
  label: string;
  isChosen: boolean;
}

/** The roles that somebody may give, the least first: it is what most people get. */
export function choicesOf(own: Role, chosen: string): RoleChoice[] {
  return roles
    .filter(role => mayManage(own, role))
    .map(value => ({ value, label: shown[value].label, isChosen: value === chosen }))
    .reverse();
}

export function roleOf(text: string): Role | undefined {
  return roles.find(role => role === text);
}
