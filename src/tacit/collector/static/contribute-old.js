/* For browsers that know no modules: say so, in the plainest script there is. */
document.getElementById("starting").setAttribute("hidden", "");
document.getElementById("old-browser").removeAttribute("hidden");
