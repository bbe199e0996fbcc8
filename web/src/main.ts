// Starts the application.

import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/layout.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { startRouting } from "./router/location.svelte";
import { theme } from "./theme.svelte";

theme.apply();
startRouting();
mount(App, { target: document.getElementById("app")! });
