import { mayManage } from '../../domain/members/authority.ts';
import { type Role, roles } from '../../entities/membership.ts';
import { optionsOf } from '../../pages/shell/choices.ts';
import { t } from '../../text/catalogue.ts';

const chips: Record<Role, string> = {
  owner: 'chip-planned',
  admin: 'chip-active',
  moderator: 'chip-completed',
  member: 'chip-outline',
};

export function presentRole(role: Role) {
  return { label: t(`members.role_labels.${role}`), chip: chips[role] };
}

/**
 * Lists the roles that a member with the role `own` may assign. The lowest role comes first, because it is the most
 * frequent choice.
 */
export function roleOptions(own: Role, chosen: string) {
  const given = roles.filter(role => mayManage(own, role)).reverse();
  return optionsOf(
    given.map(role => [role, presentRole(role).label]),
    chosen,
  );
}

export function roleOf(text: string): Role | undefined {
  return roles.find(role => role === text);
}
