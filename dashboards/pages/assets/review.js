"use strict";
/* An approval does not go with a "no": the choice of the verdict follows the checklist. */
const form = document.getElementById("review");
const follow = () => {
  const approve = form.querySelector("input[name=verdict][value=approve]");
  approve.disabled = form.querySelector("fieldset.item input[value=no]:checked") !== null;
  if (approve.disabled) approve.checked = false;
};
if (form) {
  form.addEventListener("change", follow);
  follow();
}
