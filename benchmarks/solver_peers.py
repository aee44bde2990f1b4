"""One solver in a process of its own: `python solver_peers.py NAME` answers requests line by line.

Every solver gets the same problem, w = 2 theta: (1/n) sum log(1 + exp(-y x'w)) + (lambda/2) |w|_1.
A peer's data are made ready outside the clock (float64, without the voter's own column). Ours is
timed from the int8 votes on, for all voters.
"""

import json
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np


class Unelisa:
    """Ours: all voters at once."""

    def load(self, votes):
        from unelisa.paper.solvers import SOLVERS  # noqa: PLC0415 - only this peer needs it

        self.votes, self.solver = votes, SOLVERS["working_set"]()

    def solve(self, request):
        from unelisa.paper.solvers import L1Problem  # noqa: PLC0415 - only this peer needs it

        problem = L1Problem(
            self.votes,
            np.full(self.votes.shape[1], request["penalty"]),
            fit_intercept=request["intercept"],
            tol=request["tol"],
            n_jobs=request.get("n_jobs"),
        )
        repeat = request.get("repeat", 1)
        wall, start = time.perf_counter(), time.process_time()
        for _ in range(repeat):
            solution = self.solver.solve(problem)
        cpu, wall = time.process_time() - start, time.perf_counter() - wall
        return cpu / repeat, wall / repeat, solution.weights, solution.intercepts


class Peer:
    """One voter after the other."""

    def load(self, votes):
        self.votes = votes

    def solve(self, request):
        n_voters = self.votes.shape[1]
        weights, intercepts = [], []
        cpu = 0.0
        for s in request["voters"]:
            others = np.delete(np.arange(n_voters), s)
            X = np.asfortranarray(self.votes[:, others], dtype=np.float64)
            y = self.votes[:, s].astype(np.float64)
            repeat = request.get("repeat", 1)
            start = time.process_time()
            for _ in range(repeat):
                w, b = self.fit(X, y, request["penalty"] / 2, request["intercept"], request["tol"])
            cpu += (time.process_time() - start) / repeat
            row = np.zeros(n_voters)
            row[others] = np.asarray(w) / 2
            weights.append(row)
            intercepts.append(float(b) / 2)
        return cpu, cpu, np.array(weights), np.array(intercepts)


class ScikitLearn(Peer):
    solver = ""

    def fit(self, X, y, alpha, intercept, tol):
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - this peer alone

        model = LogisticRegression(
            l1_ratio=1.0,
            C=1 / (len(y) * alpha),
            solver=self.solver,
            fit_intercept=intercept,
            tol=tol,
            max_iter=3000,
            random_state=0,
        ).fit(X, y)
        return model.coef_[0], model.intercept_[0] if intercept else 0.0


class Liblinear(ScikitLearn):
    solver = "liblinear"


class Saga(ScikitLearn):
    solver = "saga"


class Skglm(Peer):
    def fit(self, X, y, alpha, intercept, tol):
        from skglm.datafits import Logistic  # noqa: PLC0415 - this peer alone
        from skglm.penalties import L1  # noqa: PLC0415 - this peer alone
        from skglm.solvers import ProxNewton  # noqa: PLC0415 - this peer alone

        solver = ProxNewton(tol=tol, fit_intercept=intercept, max_iter=50)
        w = solver.solve(X, y, Logistic(), L1(alpha))[0]
        return (w[:-1], w[-1]) if intercept else (w, 0.0)


class Celer(Peer):
    def fit(self, X, y, alpha, _intercept, tol):
        from celer import LogisticRegression  # noqa: PLC0415 - this peer alone

        model = LogisticRegression(C=1 / (len(y) * alpha), tol=tol, max_iter=200).fit(X, y)
        return model.coef_[0], 0.0


class Adelie(Peer):
    def fit(self, X, y, alpha, intercept, tol):
        import adelie  # noqa: PLC0415 - this peer alone

        state = adelie.grpnet(
            X=X,
            glm=adelie.glm.binomial(y=(y + 1) / 2, dtype=np.float64),
            lmda_path=[alpha],
            intercept=intercept,
            tol=tol,
            irls_tol=tol,
            progress_bar=False,
            n_threads=1,
            early_exit=False,
        )
        return state.betas.toarray()[0], state.intercepts[0]


class Glmnet(Peer):
    def fit(self, X, y, alpha, intercept, tol):
        from glmnet import LogitNet  # noqa: PLC0415 - this peer alone

        model = LogitNet(
            lambda_path=[alpha], fit_intercept=intercept, standardize=False, tol=tol, n_splits=0
        ).fit(X, y)
        return model.coef_path_[0, :, 0], model.intercept_path_[0, 0]


SOLVERS = {
    "unelisa": Unelisa,
    "liblinear": Liblinear,
    "saga": Saga,
    "skglm": Skglm,
    "celer": Celer,
    "adelie": Adelie,
    "python-glmnet": Glmnet,
}


def memory(field: str) -> int:
    """This process's memory in KB: VmRSS now, VmHWM its peak (elsewhere than Linux the latter)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = next(line for line in status.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


def forget_peak() -> None:
    """Let the peak of memory start from now, so that loading the votes does not count."""
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")


def main() -> None:
    warnings.simplefilter("ignore")  # the optimality conditions say whether it converged
    solver = SOLVERS[sys.argv[1]]()
    for line in sys.stdin:
        request = json.loads(line)
        if "votes" in request:
            solver.load(np.load(request["votes"]))
            forget_peak()
            answer = {"memory": memory("VmRSS")}
        else:
            cpu, wall, weights, intercepts = solver.solve(request)
            np.savez(Path(request["out"]), weights=weights, intercepts=intercepts)
            answer = {"cpu": cpu, "wall": wall, "peak": memory("VmHWM")}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
