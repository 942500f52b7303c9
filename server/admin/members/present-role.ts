import { mayManage } from '../../domain/members/authority.ts';
import { type Role, roles } from '../../entities/membership.ts';
import { optionsOf } from '../../pages/shell/choices.ts';

const shown = {
  owner: { label: 'Owner', chip: 'chip-planned' },
  admin: { label: 'Admin', chip: 'chip-active' },
  moderator: { label: 'Moderator', chip: 'chip-completed' },
  member: { label: 'Member', chip: 'chip-outline' },
} satisfies Record<Role, object>;

export function presentRole(role: Role) {
  return shown[role];
}

/**
 * Lists the roles that a member with the role `own` may assign. The lowest role comes first, because most people get
 * it.
 */
export function roleOptions(own: Role, chosen: string) {
  const given = roles.filter(role => mayManage(own, role)).reverse();
  return optionsOf(
    given.map(role => [role, shown[role].label]),
    chosen,
  );
}

export function roleOf(text: string): Role | undefined {
  return roles.find(role => role === text);
}
