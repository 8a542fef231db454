"use strict";
/* Shows one trial, or one task side by side, in place of the overview while the address ends in
   #trial-<id>, #task-<id> or #task-<id>?<agent>&<agent>. */
(() => {
  const overview = document.getElementById("overview");
  const place = document.getElementById("trial");
  let scrolled = 0;

  const unreadable = (error) =>
    [element("p", { class: "notice bad" }, `The details cannot be shown by this browser: ${error}`)];

  async function trialContent(trialId) {
    if (!isEmbedded("trial-details", trialId)) {
      const advice = `No details of ${trialId} are on this page; nightshift show ${trialId} --transcript has them.`;
      return [element("p", { class: "notice" }, advice)];
    }
    return trialArticle(await detailsOf(trialId));
  }

  const VIEWS = { "#trial-": trialContent, "#task-": taskArticle };
  const viewOf = (hash) => Object.keys(VIEWS).find((start) => hash.startsWith(start));

  /* Back to where the reader was: to the section asked for, else to the row of the trial. */
  function showOverview(left) {
    place.hidden = true;
    overview.hidden = false;
    dispatchEvent(new Event("resize"));
    const section = document.getElementById(location.hash.slice(1));
    if (section && location.hash !== "#trials") return section.scrollIntoView();
    const row = Array.from(document.querySelectorAll("table.trials a")).find((link) => link.hash === left);
    row?.focus({ preventScroll: true });
    return scrolled ? scrollTo(0, scrolled) : (row || overview).scrollIntoView({ block: "center" });
  }

  async function show(hash, view) {
    if (!overview.hidden) scrolled = scrollY;
    const [id, chosen] = hash.slice(view.length).split("?").map((part) => part.split("&").map(decodeURIComponent));
    const content = await VIEWS[view](id.join("&"), chosen || []).catch(unreadable);
    if (location.hash !== hash) return;
    const back = element("a", { class: "back" }, "← All trials");
    back.href = "#trials";
    place.replaceChildren(back, ...content);
    overview.hidden = true;
    place.hidden = false;
    scrollTo(0, 0);
    place.focus({ preventScroll: true });
  }

  let shown = "";
  async function route() {
    const left = shown;
    shown = location.hash;
    const view = viewOf(shown);
    if (view) await show(shown, view);
    else if (overview.hidden) showOverview(left);
  }

  addEventListener("hashchange", route);
  route();
})();
