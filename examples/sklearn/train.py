"""Ridge regression on the diabetes data for several strengths of regularisation, as written for Azure ML."""

import argparse
import os

import joblib
import numpy as np
from azureml.core.run import Run
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split

parser = argparse.ArgumentParser()
parser.add_argument("--alphas", type=int, default=20, help="how many values of alpha between 0 and 1")
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

run = Run.get_context()
os.makedirs("outputs", exist_ok=True)

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=args.seed)

best_mse, best_alpha = None, None
for alpha in np.arange(0.0, 1.0, 1.0 / args.alphas):
    model = Ridge(alpha=alpha)
    model.fit(X_train, y_train)
    mse = mean_squared_error(y_test, model.predict(X_test))

    run.log("alpha", alpha)
    run.log("mse", mse)
    print("alpha is {0:.2f}, and mse is {1:0.2f}".format(alpha, mse))

    if best_mse is None or mse < best_mse:
        best_mse, best_alpha = mse, alpha
        joblib.dump(model, os.path.join("outputs", "ridge_best.pkl"))

run.log("best_alpha", best_alpha)
run.log("best_mse", best_mse)
run.tag("best_alpha", "{0:.2f}".format(best_alpha))
