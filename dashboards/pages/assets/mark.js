"use strict";
/* Grade 1 does not go with an error: the choice of the grade follows the errors. */
const form = document.getElementById("labels");
const follow = () => {
  const best = form.querySelector('input[name=grade][value="1"]');
  best.disabled = form.querySelector("input[name=errors]:checked") !== null;
  if (best.disabled) best.checked = false;
};
if (form) {
  form.addEventListener("change", follow);
  follow();
}
