/** An entry in the payload of a mail_people job. All entries of a job are of one account. */
export interface NotificationToMail {
  account_id: number;
  id: number;
}
