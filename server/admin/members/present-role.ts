import { mayManage } from '../../domain/members/authority.ts';
import { type Role, roles } from '../../entities/membership.ts';

const shown = {
  owner: { label: 'Owner', chip: 'chip-planned' },
  admin: { label: 'Admin', chip: 'chip-active' },
  moderator: { label: 'Moderator', chip: 'chip-completed' },
  member: { label: 'Member', chip: 'chip-outline' },
} satisfies Record<Role, object>;

export function presentRole(role: Role) {
  return shown[role];
}

/** The roles that a member with the own role may give. The lowest is first, because most people get it. */
export function choicesOf(own: Role, chosen: string) {
  return roles
    .filter(role => mayManage(own, role))
    .map(value => ({ value, label: shown[value].label, isChosen: value === chosen }))
    .reverse();
}

export function roleOf(text: string): Role | undefined {
  return roles.find(role => role === text);
}
