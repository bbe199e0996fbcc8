// What an administrator may do about the access of a user: end the sessions, deactivate, activate again.

export type UserAction = "end" | "deactivate" | "activate";

/** An action in words, for its button and for the dialog that asks before it. */
export interface UserActionWords {
  label: string;
  title: string;
  consequence: string;
  failure: string;
  done: string;
}

/** Returns the actions that a user's state allows. */
export function userActions(active: boolean): UserAction[] {
  return active ? ["end", "deactivate"] : ["activate"];
}

/** Returns an action on a user in words; `isSelf` is whether it is the signed-in user. */
export function userActionWords(action: UserAction, user: string, isSelf: boolean): UserActionWords {
  switch (action) {
    case "end":
      return {
        label: "End all sessions",
        title: `End all sessions of ${user}?`,
        consequence: isSelf
          ? "You are signed out here and everywhere else. Your access keys stay."
          : `${user} is signed out everywhere, and can sign in again. Access keys stay.`,
        failure: "The sessions were not ended",
        done: `All sessions of ${user} were ended`,
      };
    case "deactivate":
      return {
        label: "Deactivate",
        title: `Deactivate ${user}?`,
        consequence: isSelf
          ? "This is you: you are signed out, and cannot sign in until another administrator activates you again."
          : `${user} cannot sign in, and the access keys of ${user} do not work until you activate the user again. Nothing is deleted.`,
        failure: "The user was not deactivated",
        done: `${user} is deactivated`,
      };
    case "activate":
      return {
        label: "Activate",
        title: `Activate ${user}?`,
        consequence: `${user} can sign in again, and the access keys of ${user} work again. Sessions that were ended stay ended.`,
        failure: "The user was not activated",
        done: `${user} is active again`,
      };
  }
}
