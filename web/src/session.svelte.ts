// Who is signed in, and what the server can do. The token itself is in a cookie that scripts cannot
// read.

import { api, whenSignedOut } from "./api/client";
import { ApiError } from "./api/error";
import type { Config, LoginConfig, User } from "./api/types";
import type { SignInLink } from "./pages/sign-in/link";
import { links } from "./router/links";
import { isCommandLinePage, isOwnPath, location, navigate } from "./router/location.svelte";

const LINK_PATH = "/auth/link";
const PUBLIC_PATHS = ["/auth/login", LINK_PATH, "/setup"];

class Session {
  user = $state.raw<User | undefined>(undefined);
  config = $state.raw<Config | undefined>(undefined);
  loginConfig = $state.raw<LoginConfig | undefined>(undefined);

  /** Finds out who is signed in, and goes to the page to sign in, or to set up, if nobody is. */
  async start(): Promise<void> {
    const [setup, user] = await Promise.all([api.get("/setup_lakefs"), this.#find()]);
    this.loginConfig = setup.login_config;
    if (setup.state === "not_initialized") {
      navigate(links.setup(), { replace: true });
    } else if (user && location.path === LINK_PATH) {
      this.user = user; // the link may be another user's: its page asks
    } else if (user) {
      await this.#enter(user);
    } else {
      this.#ask();
    }
  }

  /** Signs in with a key pair. Throws ApiError. */
  async signIn(accessKeyId: string, secretAccessKey: string): Promise<void> {
    const body = { access_key_id: accessKeyId, secret_access_key: secretAccessKey };
    await api.post("/auth/login", { body });
    await this.#enter((await api.get("/user")).user);
  }

  /** Signs in as the user of a link; `confirmed` says that the person was asked. Throws ApiError. */
  async useLink({ username, code, next }: SignInLink, confirmed: boolean): Promise<void> {
    await api.post("/auth/links/use", { body: { username, code, confirmed } });
    await this.#enter((await api.get("/user")).user, next);
  }

  /** Returns who is signed in; nobody if the session has ended. */
  async #find(): Promise<User | undefined> {
    try {
      const { user } = await api.get("/user");
      return user.id ? user : undefined;
    } catch (error) {
      if (error instanceof ApiError && error.isSignedOut) return undefined;
      throw error;
    }
  }

  async #enter(user: User, target = location.query.get("next") ?? ""): Promise<void> {
    this.config = await api.get("/config");
    this.user = user;
    if (PUBLIC_PATHS.includes(location.path)) {
      if (isCommandLinePage(target)) window.location.replace(target);
      else navigate(isOwnPath(target) ? target : links.repositories(), { replace: true });
    }
  }

  /** Goes to the page to sign in, which leads back to this one. */
  #ask(): void {
    if (!PUBLIC_PATHS.includes(location.path)) {
      navigate(links.signIn(location.href), { replace: true });
    }
  }

  /** Forgets the user after a response said that the session has ended. */
  ended(): void {
    if (!this.user) return;
    this.user = undefined;
    this.#ask();
  }
}

/** The session of this page. */
export const session = new Session();

whenSignedOut(() => session.ended());
