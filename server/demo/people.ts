import type { DemoPerson } from './demo-data.ts';

export const people: DemoPerson[] = [
  // Fieldwren's own staff.
  { key: 'amara', name: 'Amara Okonkwo-Hale', email: 'amara.fieldwren@example.com', role: 'owner' },
  { key: 'tomas', name: 'Tomáš Dvořák', email: 'tomas.fieldwren@example.com', role: 'admin' },
  {
    key: 'linnea',
    name: 'Linnéa Bergström',
    email: 'linnea.fieldwren@example.com',
    role: 'moderator',
  },
  {
    key: 'rafael',
    name: 'Rafael Monteiro',
    email: 'rafael.fieldwren@example.com',
    role: 'moderator',
  },
  // Customers: each comes with a trade, which shows in what they ask for.
  { key: 'priya', name: 'Priya Raghunathan', email: 'priya@example.com', role: 'member' }, // electrical contractor's office
  { key: 'zoe', name: 'Zoë Whitcombe', email: 'zoe.whitcombe@example.org', role: 'member' }, // cleaning
  { key: 'kenji', name: 'Kenji Murakami', email: 'kenji.m@example.com', role: 'member' }, // air conditioning
  { key: 'fatima', name: 'Fatima El-Amrani', email: 'fatima@example.org', role: 'member' }, // bookkeeper to several firms
  { key: 'declan', name: "Declan O'Sullivan", email: 'declan@example.com', role: 'member' }, // landscaping
  { key: 'ngozi', name: 'Ngozi Adeyemi', email: 'ngozi.adeyemi@example.com', role: 'member' }, // dispatcher
  { key: 'jurgen', name: 'Jürgen Maßmann', email: 'j.massmann@example.org', role: 'member' }, // heating, Germany
  { key: 'marisol', name: 'Marisol Peña', email: 'marisol@example.com', role: 'member' }, // swimming pools
  { key: 'sooah', name: 'Soo-ah Lim', email: 'sooah.lim@example.org', role: 'member' }, // developer on the API
  { key: 'eleri', name: 'Eleri Pritchard', email: 'eleri@example.com', role: 'member' }, // pest control; low vision
  { key: 'theo', name: 'Théo Lacombe', email: 'theo.lacombe@example.org', role: 'member' }, // coffee machine repairs
  { key: 'wiremu', name: 'Wiremu Tahana', email: 'wiremu@example.com', role: 'member' }, // rural solar
  // Not a customer: the author of what sits in the hidden spam status.
  { key: 'dana', name: 'Dana Whitlock', email: 'dana.growth@example.org', role: 'member' },
];
